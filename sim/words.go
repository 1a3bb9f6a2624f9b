package sim

import (
	"math/rand/v2"
	"strings"
)

// language is a list of words made of syllables. Their frequencies follow Zipf's law.
type language struct {
	words []string
	draw  [1 << drawBits]uint16 // indices of words, each as often as it is likely
}

const (
	drawBits  = 15 // four draws come from one random number
	wordCount = 2000
)

func newLanguage(rng *rand.Rand) *language {
	l := &language{}
	taken := map[string]bool{}
	for len(l.words) < wordCount {
		if w := inventWord(rng, len(l.words)); !taken[w] {
			taken[w] = true
			l.words = append(l.words, w)
		}
	}
	harmonic := 0.0
	for i := range l.words {
		harmonic += 1 / float64(i+1)
	}
	word, reach := 0, 1/harmonic // the share of all draws that go to words up to this one
	for i := range l.draw {
		for word < wordCount-1 && float64(i) >= reach*float64(len(l.draw)) {
			word++
			reach += 1 / float64(word+1) / harmonic
		}
		l.draw[i] = uint16(word)
	}
	return l
}

// inventWord returns a word of one to three syllables; frequent words, of low rank, are short.
func inventWord(rng *rand.Rand, rank int) string {
	onsets := [...]string{"b", "br", "c", "d", "dr", "f", "fl", "g", "gr", "h", "k", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "tr", "v", "w"}
	vowels := [...]string{"a", "e", "i", "o", "u", "ai", "ea", "oo"}
	codas := [...]string{"", "", "", "l", "m", "n", "nd", "r", "s", "t"}
	syllables := 1 + rng.IntN(2)
	if rank >= 100 {
		syllables++
	}
	var word strings.Builder
	for range syllables {
		word.WriteString(onsets[rng.IntN(len(onsets))])
		word.WriteString(vowels[rng.IntN(len(vowels))])
	}
	return word.String() + codas[rng.IntN(len(codas))]
}

// text is a stream of words of a language; the same seed gives the same words.
type text struct {
	*language
	random rand.PCG
	bits   uint64
	left   int // draws left in bits
}

func (l *language) text(seed uint64) *text {
	t := &text{language: l}
	t.random.Seed(seed, 0x7e47)
	return t
}

func (t *text) word() string {
	if t.left == 0 {
		t.bits, t.left = t.random.Uint64(), 4
	}
	w := t.words[t.draw[t.bits&(1<<drawBits-1)]]
	t.bits >>= drawBits
	t.left--
	return w
}

// title appends n words, the first with a capital letter.
func (t *text) title(b []byte, n int) []byte {
	start := len(b)
	for i := range n {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, t.word()...)
	}
	b[start] -= 'a' - 'A'
	return b
}

// sentence appends a sentence of 5 to 20 words.
func (t *text) sentence(b []byte) []byte {
	n := 5 + int(t.random.Uint64()>>60)
	b = t.title(b, n/2)
	b = append(b, ", "...)
	for range n - n/2 {
		b = append(append(b, t.word()...), ' ')
	}
	b[len(b)-1] = '.'
	return b
}
