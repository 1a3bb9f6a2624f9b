// Package clock is the one source of time for everything that runs live.
//
// A policy never sees a clock: it takes now as an argument. Code that really waits (the engine's loops, fetch
// time-outs, heartbeats, the demo's web) uses a *Clock. So one flag can make a demo day take ten seconds, and tests can
// run inside testing/synctest bubbles.
//
// A Clock is monotonic while the process runs: a step of the machine's wall clock never affects differences between its
// times. Its times also carry a wall reading, which records keep. RetryAfter reads how long a server asks to wait.
//
// No other package may use the clock and timers of package time; a test checks that.
package clock

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Clock is a clock that runs at a rate: at rate 1 it is the machine's clock, at rate 8640 a day takes ten seconds. It
// is safe for concurrent use. The zero value is not usable; see Real and New.
type Clock struct {
	started time.Time // machine time at which the clock was made, with its monotonic reading
	epoch   time.Time // the clock's time then
	rate    float64   // clock seconds per machine second
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

// Span returns how much of the clock's time passes in d of machine time.
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

// Deadline returns the machine time d machine seconds from now, for net.Conn.SetDeadline. It does not depend on the
// rate: a server on the network does not run faster because a demo's clock does.
func (c *Clock) Deadline(d time.Duration) time.Time { return time.Now().Add(d) }
