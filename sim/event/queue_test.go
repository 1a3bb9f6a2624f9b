package event

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestOrder holds that events come out by time. Events of one time come out in the order of pushing. Pushes and pops
// may come in any order.
func TestOrder(t *testing.T) {
	type entry struct {
		at     float64
		number int
	}
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[int]
		var want []entry
		for number := range rapid.IntRange(0, 200).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "pop") {
				at, got, ok := q.Pop()
				if ok != (len(want) > 0) {
					t.Fatalf("Pop of %d events: %v", len(want), ok)
				}
				if !ok {
					continue
				}
				if first := want[0]; at != first.at || got != first.number {
					t.Fatalf("popped %d at %v, want %d at %v", got, at, first.number, first.at)
				}
				want = want[1:]
				continue
			}
			at := float64(rapid.IntRange(-3, 3).Draw(t, "at"))
			q.Push(at, number)
			i := slices.IndexFunc(want, func(e entry) bool { return e.at > at })
			if i < 0 {
				i = len(want)
			}
			want = slices.Insert(want, i, entry{at, number})
			if next, ok := q.Next(); !ok || next != want[0].at || q.Len() != len(want) {
				t.Fatalf("next of %d at %v, want of %d at %v", q.Len(), next, len(want), want[0].at)
			}
		}
	})
}

func TestNotANumber(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an event at NaN: want a panic")
		}
	}()
	new(Queue[int]).Push(math.NaN(), 1)
}

// A light that blinks twice a second.
func Example() {
	var q Queue[string]
	q.Push(0, "on")
	for now, e, ok := q.Pop(); ok && now < 1; now, e, ok = q.Pop() {
		fmt.Println(now, e)
		switch e {
		case "on":
			q.Push(now+0.25, "off")
		case "off":
			q.Push(now+0.25, "on")
		}
	}
	// Output:
	// 0 on
	// 0.25 off
	// 0.5 on
	// 0.75 off
}

// BenchmarkQueue pops an event and pushes another, in queues of several lengths.
func BenchmarkQueue(b *testing.B) {
	for _, waiting := range []int{64, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			var q Queue[uint32]
			for i := range waiting {
				q.Push(rng.ExpFloat64(), uint32(i))
			}
			b.ReportAllocs()
			for b.Loop() {
				at, e, _ := q.Pop()
				q.Push(at+rng.ExpFloat64(), e)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
