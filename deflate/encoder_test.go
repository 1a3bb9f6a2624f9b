package deflate

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func unzip(t testing.TB, member []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(member))
	if err != nil {
		t.Fatal(err)
	}
	message, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return message
}

// noise returns n bytes, each one of so many values.
func noise(n, values int) []byte {
	random := rand.New(rand.NewPCG(1, uint64(values)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.IntN(values))
	}
	return b
}

// skewed returns bytes whose counts are the Fibonacci numbers: the optimal code of the rarest would be
// longer than 15 bits.
func skewed() (b []byte) {
	for i, f, next := 0, 1, 1; len(b)+f < blockSize; i, f, next = i+1, next, f+next {
		b = append(b, bytes.Repeat([]byte{byte(i)}, f)...)
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
	return b
}

func TestAppendGzip(t *testing.T) {
	tests := []struct {
		name    string
		message []byte
		atMost  int // bytes
	}{
		{"nothing", nil, 21},
		{"a byte", []byte("a"), 22},
		{"a word's length", []byte("12345678"), 28},
		{"one match", []byte("abcdefghijabcdefghij"), 35},
		{"a header", []byte(strings.Repeat("WARC-Type: request\r\n", 20)), 60},
		{"one byte again and again", bytes.Repeat([]byte{0}, 1<<20), 5000},
		{"two bytes in turn", bytes.Repeat([]byte("ab"), 40_000), 500},
		{"noise", noise(100_000, 256), 100_040},
		{"noise of few values", noise(100_000, 4), 34_000},
		{"less than codes of its own", noise(ownFrom-1, 16), ownFrom + 30},
		{"a whole block", noise(blockSize, 2), 14_000},
		{"a block and a byte", noise(blockSize+1, 2), 14_000},
		{"lengths beyond the limit", skewed(), 20_000},
		{"a repetition at the end of the window", append(append(noise(window, 256), noise(window-100, 3)...), noise(1000, 256)...), 60_000},
	}
	var e Encoder
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			member := e.AppendGzip([]byte("before"), tt.message)
			if got := unzip(t, member[len("before"):]); !bytes.Equal(got, tt.message) {
				t.Error("another message comes out")
			}
			if got := len(member) - len("before"); got > tt.atMost {
				t.Errorf("%d bytes became %d, want at most %d", len(tt.message), got, tt.atMost)
			}
			if again := new(Encoder).AppendGzip(nil, tt.message); !bytes.Equal(again, member[len("before"):]) {
				t.Error("another encoder makes another member")
			}
		})
	}
}

// TestOptimal compares with the definition: no code of other lengths is shorter than Huffman's, whose
// length is the sum of all weights that joining the two lightest gives.
func TestOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.Uint32Range(0, 50), 2, 40).Draw(t, "counts")
		var c ownCodes
		sizes := make([]uint8, len(counts))
		c.optimal(sizes, counts, maxBits)
		var weights []uint32
		got, kraft := 0, 0
		for symbol, count := range counts {
			if count == 0 != (sizes[symbol] == 0) {
				t.Fatalf("symbol %d, counted %d times, has a code of %d bits", symbol, count, sizes[symbol])
			}
			if count > 0 {
				weights = append(weights, count)
				got += int(count) * int(sizes[symbol])
				kraft += 1 << (maxBits - sizes[symbol])
			}
		}
		if len(weights) < 2 {
			return
		}
		want := 0
		for len(weights) > 1 {
			slices.Sort(weights)
			weights[1] += weights[0]
			want += int(weights[1])
			weights = weights[1:]
		}
		if got != want || kraft != 1<<maxBits {
			t.Errorf("%d bits, want %d; %d of %d leaves", got, want, kraft, 1<<maxBits)
		}
	})
}

func FuzzAppendGzip(f *testing.F) {
	f.Add([]byte("<a href=\"/a\">a</a> <a href=\"/b\">b</a>"), uint16(100))
	f.Add(noise(300, 256), uint16(3))
	f.Fuzz(func(t *testing.T, piece []byte, times uint16) {
		message := bytes.Repeat(piece, min(int(times), 1<<18/(len(piece)+1)))
		var e Encoder
		if got := unzip(t, e.AppendGzip(nil, message)); !bytes.Equal(got, message) {
			t.Errorf("%d bytes come out, want the %d that went in", len(got), len(message))
		}
	})
}
