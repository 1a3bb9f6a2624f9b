package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestKept holds what open windows cost: an answer is made by one at a time, and takes at most a part in keptShare of
// the time, however often and by however many it is asked for. Nobody waits for more than the first one.
func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 3 * time.Second
		var made, atOnce atomic.Int32
		k := kept[int32]{make: func() (int32, error) {
			if atOnce.Add(1) > 1 {
				t.Error("two are made at once")
			}
			defer atOnce.Add(-1)
			time.Sleep(takes)
			return made.Add(1), nil
		}}
		begun := time.Now()
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for time.Since(begun) < time.Hour {
					asked := time.Now()
					value, at, err := k.get(t.Context())
					if err != nil || value < 1 || time.Since(at) > keptShare*takes+takes {
						t.Errorf("%d of %s ago, %v", value, time.Since(at), err)
					}
					if waited := time.Since(asked); waited > takes {
						t.Errorf("waited %s", waited)
					}
					time.Sleep(time.Second)
				}
			})
		}
		all.Wait()
		if most := int32(time.Hour/(keptShare*takes)) + 1; made.Load() < 2 || made.Load() > most {
			t.Errorf("made %d times in an hour, want at most %d", made.Load(), most)
		}
	})
}

// TestKeptFault holds that a fault is told, that the next question tries again, and that whoever leaves does not
// wait.
func TestKeptFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := errors.New("disk on fire")
		k := kept[int]{make: func() (int, error) {
			time.Sleep(time.Second)
			return 7, fault
		}}
		go func() {
			if _, _, err := k.get(context.Background()); !errors.Is(err, fault) {
				t.Errorf("%v", err)
			}
		}()
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		leave()
		if _, _, err := k.get(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("whoever leaves: %v", err)
		}
		time.Sleep(2 * time.Second)
		fault = nil
		if value, at, err := k.get(t.Context()); value != 7 || at.IsZero() || err != nil {
			t.Errorf("%d, %v", value, err)
		}
	})
}
