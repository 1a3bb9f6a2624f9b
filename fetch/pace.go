package fetch

import (
	"context"
	"sync"
	"time"

	"freshet/clock"
)

// Pace is a cap on bytes a second. The fetches that use it share it. It is safe for concurrent use; a nil Pace is
// no cap.
type Pace struct {
	mu   sync.Mutex // guards what follows
	rate func(now time.Time) float64
	part float64   // of the rate; 0: all of it
	paid time.Time // when the bytes let pass so far are paid for, at the rate
}

// NewPace returns a cap at a rate, in bytes a machine second. The rate may change with the clock's time; 0 is no
// cap.
func NewPace(rate func(now time.Time) float64) *Pace { return &Pace{rate: rate} }

// Uncapped returns a cap without a rate. Follow gives it one.
func Uncapped() *Pace { return NewPace(func(time.Time) float64 { return 0 }) }

// Follow gives the cap the rate of another from now on; nil has none.
func (p *Pace) Follow(other *Pace) {
	if other == nil {
		other = Uncapped()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = other.rate
}

// SetPart limits the cap to a part of its rate. Others share the rest.
func (p *Pace) SetPart(part float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.part = part
}

// leastWait is the shortest wait, in machine time. A shorter one is added to the next.
const leastWait = 20 * time.Millisecond

// reserve lets n bytes pass at now and returns how long the caller must wait. span converts machine time into the
// clock's. A pause earns no credit.
func (p *Pace) reserve(n int, now time.Time, span func(time.Duration) time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	rate := p.rate(now)
	if p.part > 0 {
		rate *= p.part
	}
	if p.paid.Before(now) {
		p.paid = now
	}
	if rate <= 0 {
		p.paid = now
		return 0
	}
	p.paid = p.paid.Add(span(time.Duration(float64(n) / rate * float64(time.Second))))
	if wait := p.paid.Sub(now); wait >= span(leastWait) {
		return wait
	}
	return 0
}

// wait waits as the cap demands after n bytes were moved. It returns the machine time that it waited, and ctx's
// error if ctx ended first.
func (p *Pace) wait(ctx context.Context, c *clock.Clock, n int) (time.Duration, error) {
	if p == nil {
		return 0, nil
	}
	wait := p.reserve(n, c.Now(), c.Span)
	if wait == 0 {
		return 0, nil
	}
	return c.Machine(wait), c.Sleep(ctx, wait)
}
