package feed

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for failures, longest := range map[int]time.Duration{0: time.Second, 1: 2 * time.Second, 5: 32 * time.Second, 11: 2048 * time.Second, 12: time.Hour, 1 << 40: time.Hour} {
		seen := map[time.Duration]bool{}
		for range 100 {
			wait := Backoff(failures, rng)
			if seen[wait] = true; wait < longest/2 || wait > longest {
				t.Errorf("after %d failures %v: want %v to %v", failures, wait, longest/2, longest)
			}
		}
		if len(seen) < 90 {
			t.Errorf("after %d failures %d different waits of 100", failures, len(seen))
		}
	}
}
