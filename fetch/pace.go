package fetch

import (
	"context"
	"sync"
	"time"

	"freshet/clock"
)

// Pace is a cap on bytes a second that the fetches share that have it. It is safe for concurrent use; a
// nil Pace is no cap.
type Pace struct {
	mu   sync.Mutex // guards what follows
	rate func(now time.Time) float64
	part float64   // of the rate; 0: all of it
	paid time.Time // until then what was let pass takes, at the rate
}

// NewPace returns a cap at a rate, in bytes a machine second, that may change with the clock's time; a
// rate of 0 is none.
func NewPace(rate func(now time.Time) float64) *Pace { return &Pace{rate: rate} }

// Uncapped returns a cap that caps nothing until it is told to Follow one that does.
func Uncapped() *Pace { return NewPace(func(time.Time) float64 { return 0 }) }

// Follow gives the cap another's rate from now on; nil's is none.
func (p *Pace) Follow(other *Pace) {
	if other == nil {
		other = Uncapped()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = other.rate
}

// SetPart lets the cap pass a part of its rate: the others share the rest of it.
func (p *Pace) SetPart(part float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.part = part
}

// leastWait is not worth waiting for, in machine time: it is waited for together with what comes next.
const leastWait = 20 * time.Millisecond

// reserve lets n bytes pass at now and returns how long whoever moved them is to wait, where span turns
// machine time into the clock's. A pause earns no credit.
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

// wait makes up for n bytes that were moved. It returns the machine time that it took, and ctx's error
// if that ended first.
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
