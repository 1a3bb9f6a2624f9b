package growth

import (
	"math/rand/v2"
	"strconv"

	"freshet/weburl"
)

// madeUp returns a link to the n-th URL of a web of 4,096 sites.
func madeUp(n uint64) weburl.Link {
	path := rand.NewPCG(n, 3).Uint64()
	text := make([]byte, 0, 80)
	text = strconv.AppendUint(append(text, "https://www.site"...), n%4096, 10)
	text = strconv.AppendUint(append(text, ".test/section/"...), path%97, 10)
	text = strconv.AppendUint(append(text, "/an-article-about-something-"...), n, 36)
	u, err := weburl.Parse(string(append(text, ".html"...)))
	if err != nil {
		panic(err)
	}
	return weburl.Link{URL: u, Fingerprint: u.Fingerprint(), Depth: uint16(path>>32%12) + 1}
}

// stream draws numbers of URLs. Those below known are known.
type stream interface{ next() uint64 }

// inOrder are new URLs, one after another.
type inOrder struct{ n uint64 }

func (s *inOrder) next() uint64 {
	s.n++
	return s.n - 1
}

// uniform are known URLs.
type uniform struct {
	rng   *rand.Rand
	known uint64
}

func (s *uniform) next() uint64 { return s.rng.Uint64N(s.known) }

// recent repeats recent draws.
type recent struct {
	uniform
	fresh uint64 // the next new URL
	drawn []uint64
	n     int
}

const (
	recentURLs  = 1 << 14
	repeatShare = 0.7
	newShare    = 0.4 // of URLs that are no repeats
)

func (s *recent) next() uint64 {
	if len(s.drawn) == recentURLs && s.rng.Float64() < repeatShare {
		return s.drawn[s.rng.IntN(recentURLs)]
	}
	url := s.uniform.next()
	if s.rng.Float64() < newShare {
		url = s.fresh
		s.fresh++
	}
	if len(s.drawn) < recentURLs {
		s.drawn = append(s.drawn, url)
	} else {
		s.drawn[s.n%recentURLs] = url
	}
	s.n++
	return url
}

// newStream returns the stream of a name, whose new URLs begin with fresh.
func newStream(name string, known, fresh, seed uint64) stream {
	all := uniform{rand.New(rand.NewPCG(seed, known)), known}
	if name == "uniform" {
		return &all
	}
	return &recent{uniform: all, fresh: fresh}
}
