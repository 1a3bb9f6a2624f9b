// Package clock is the one source of time of everything that runs live.
//
// A policy never sees a clock: it takes now as an argument. What really waits (the engine's loops,
// fetch time-outs, heartbeats, the demo's web) asks a *Clock, so that one flag can make a demo day
// take ten seconds and so that tests can run inside testing/synctest bubbles.
//
// A Clock is monotonic while the process runs: differences between its times are never affected by a
// step of the machine's wall clock. Its times carry a wall reading too, which is what records keep.
// How long a server asks to wait is read here too (RetryAfter).
// This package is the only place where the time package's clock and timers may be used; a test holds
// that.
package clock

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Clock tells the time at a rate: at rate 1 it is the machine's clock, at rate 8640 a day takes ten
// seconds. It is safe for concurrent use. The zero value is not usable; see Real and New.
type Clock struct {
	started time.Time // machine time at which the clock was made, with its monotonic reading
	epoch   time.Time // what the clock said then
	rate    float64   // clock seconds a machine second
}

// Real returns the machine's own clock.
func Real() *Clock { return New(time.Now(), 1) }

// New returns a clock that shows epoch now and runs at rate clock seconds per machine second. It panics unless rate
// is positive and finite.
func New(epoch time.Time, rate float64) *Clock {
	if !(rate > 0) || math.IsInf(rate, 0) {
		panic(fmt.Sprintf("clock: New: rate %v: want a positive finite number", rate))
	}
	return &Clock{started: time.Now(), epoch: epoch, rate: rate}
}

// Now returns the clock's time. Differences between two values of Now are monotonic.
func (c *Clock) Now() time.Time {
	elapsed := time.Since(c.started)
	if c.rate != 1 {
		elapsed = time.Duration(float64(elapsed) * c.rate)
	}
	return c.epoch.Add(elapsed)
}

// Rate returns the clock seconds that pass in a machine second.
func (c *Clock) Rate() float64 { return c.rate }

// Machine returns the machine time in which d of the clock's time passes, rounded up, so that a caller that waits
// that long does not wake too early.
func (c *Clock) Machine(d time.Duration) time.Duration {
	if c.rate == 1 {
		return d
	}
	return time.Duration(math.Ceil(float64(d) / c.rate))
}

// Span returns how much of the clock's time passes while the machine's advances by d.
func (c *Clock) Span(d time.Duration) time.Duration {
	if c.rate == 1 {
		return d
	}
	return time.Duration(float64(d) * c.rate)
}

// NewTimer returns a timer that fires when d of the clock's time has passed.
func (c *Clock) NewTimer(d time.Duration) *time.Timer { return time.NewTimer(c.Machine(d)) }

// Reset makes a timer of NewTimer fire when d of the clock's time has passed from now.
func (c *Clock) Reset(t *time.Timer, d time.Duration) { t.Reset(c.Machine(d)) }

// Sleep returns nil after d of the clock's time, or ctx's error as soon as ctx ends.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Deadline returns the machine time d machine seconds from now, as net.Conn.SetDeadline wants it:
// a server on the network does not run faster because a demo's clock does.
func (c *Clock) Deadline(d time.Duration) time.Time { return time.Now().Add(d) }
