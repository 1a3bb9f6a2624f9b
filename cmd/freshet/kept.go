package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"freshet/clock"
)

// keptShare bounds the cost of a kept answer: at most one part in this many of the time is spent making it.
const keptShare = 200

// A kept answer is one whose cost grows with the data directory, so it is not made for every question. It is made when
// somebody asks, one at a time, and never more often than keptShare permits; meanwhile the last one answers. So it is
// at most keptShare times as old as it takes to make. It is safe for concurrent use.
type kept[T any] struct {
	make func() (T, error)

	mu     sync.Mutex
	value  T
	at     time.Time     // when value was begun; zero: there is none yet
	rest   time.Time     // until then value answers
	making chan struct{} // closed when the next value is made; nil: nobody makes it
}

// get returns the answer, and the time at which it was true. It waits only for the first one. It returns an error if
// this answer cannot be made, or if ctx ends before there is one.
func (k *kept[T]) get(ctx context.Context) (value T, at time.Time, err error) {
	for {
		k.mu.Lock()
		begun, making := clock.Real().Now(), k.making
		if !k.at.IsZero() && (making != nil || begun.Before(k.rest)) {
			defer k.mu.Unlock()
			return k.value, k.at, nil
		}
		if making == nil {
			k.making = make(chan struct{})
			k.mu.Unlock()
			return k.next(begun)
		}
		k.mu.Unlock()
		select {
		case <-making:
		case <-ctx.Done():
			return value, at, ctx.Err()
		}
	}
}

var errUnmade = errors.New("the answer could not be made: the log has the reason")

// next makes an answer. The last one stays if it cannot.
func (k *kept[T]) next(begun time.Time) (value T, at time.Time, err error) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if ended := clock.Real().Now(); err == nil {
			k.value, k.at, k.rest = value, begun, ended.Add((keptShare-1)*ended.Sub(begun))
		}
		close(k.making)
		k.making = nil
	}()
	err = errUnmade // of a panic
	value, err = k.make()
	return value, begun, err
}
