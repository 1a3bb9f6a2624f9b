package disk

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

func TestSelectBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	words := []uint64{1, 1 << 63, ^uint64(0), 0xff, 0xff << 56, 0x8000000000000001}
	for range 10_000 {
		words = append(words, rng.Uint64(), rng.Uint64()&rng.Uint64()&rng.Uint64(), rng.Uint64()|rng.Uint64()|rng.Uint64())
	}
	for _, word := range words {
		rest := word
		for n := range bits.OnesCount64(word) {
			want := bits.TrailingZeros64(rest)
			if got := selectBit(word, n); got != want {
				t.Fatalf("the %d-th one of %064b is at %d, want %d", n, word, got, want)
			}
			rest &= rest - 1
		}
	}
}
