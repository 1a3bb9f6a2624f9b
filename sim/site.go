package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"freshet/weburl"
)

// habits are the peculiarities of a site. Every eight sites of a web have each habit once.
type habits struct {
	slow       bool // is five times slower than the others
	chunked    bool // sends chunks instead of a Content-Length
	compressed bool // sends gzip where it is accepted
	noRobots   bool // has no robots.txt
	private    bool // disallows /private/ and asks for a Crawl-delay
	sitemap    bool // has a sitemap
	index      bool // its sitemap is an index of compressed ones
	feed       bool // has a feed
	blank      bool // sends no validators
	lying      bool // sends validators that do not depend on changes
}

var siteHabits = [...]habits{
	{sitemap: true, feed: true},
	{private: true},
	{sitemap: true, index: true, compressed: true},
	{slow: true, chunked: true},
	{blank: true, noRobots: true},
	{lying: true, sitemap: true},
	{compressed: true, chunked: true, feed: true},
	{private: true, sitemap: true, feed: true},
}

// crawlDelay is the Crawl-delay of private sites: longer than the demo's own delay, and short enough that the demo
// ends in a minute or two.
const crawlDelay = 50 * time.Millisecond

var trees = [...]string{"alder", "birch", "cedar", "dogwood", "elm", "fir", "gorse", "hazel", "ilex", "juniper",
	"katsura", "larch", "maple", "nutmeg", "oak", "pine", "quince", "rowan", "spruce", "teak", "upas", "viburnum",
	"willow", "xylosma", "yew", "zelkova"}

// site is a host of the web and the tree of its pages, numbered breadth first from 0, the home.
type site struct {
	habits
	web       *Web
	number    int
	host      string
	seed      uint64
	pages     int
	children  int // of a page that has any
	latency   time.Duration
	bandwidth int64 // bytes/s, 0 for no limit
}

func newSite(w *Web, number, pages int) *site {
	s := &site{
		habits: siteHabits[number%len(siteHabits)],
		web:    w, number: number, pages: pages,
		host: hostName(number),
		seed: mix(w.config.Seed, 0x517e, uint64(number)),
	}
	rng := rand.New(rand.NewPCG(s.seed, 1))
	s.children = 2 + rng.IntN(9)
	factor := math.Exp(0.5 * rng.NormFloat64())
	if s.slow {
		factor *= 5
	}
	s.latency = time.Duration(float64(max(w.config.Latency, 0)) * factor)
	s.bandwidth = int64(float64(max(w.config.Bandwidth, 0)) / factor)
	return s
}

// hostName returns alder.test, birch.test, …, zelkova.test, alder2.test, …
func hostName(number int) string {
	name := trees[number%len(trees)]
	if round := number / len(trees); round > 0 {
		name = fmt.Sprint(name, round+1)
	}
	return name + ".test"
}

// parent returns the page whose child page is; the home has none.
func (s *site) parent(page int) int { return (page - 1) / s.children }

// childrenOf returns the range of page's children, first to end-1.
func (s *site) childrenOf(page int) (first, end int) {
	first = page*s.children + 1
	return min(first, s.pages), min(first+s.children, s.pages)
}

func (s *site) leaf(page int) bool { return page*s.children+1 >= s.pages }

// key returns the seed of one aspect of a page.
func (s *site) key(page int, aspect uint64) uint64 { return mix(s.seed, aspect, uint64(page)) }

// Aspects of a page that are drawn apart.
const (
	aspectProcess = iota + 1
	aspectLife
	aspectTraits
	aspectSlug
	aspectLinks
	aspectLabels
	aspectText
	aspectPicture
)

// life returns when a page appears and when it vanishes, as times since the web's start. One leaf in 30 appears after
// the start, and one in 30 vanishes, all within the first 60 days. All other pages always exist.
func (s *site) life(page int) (born, gone time.Duration) {
	gone = math.MaxInt64
	if page == 0 || !s.leaf(page) {
		return 0, gone
	}
	key := s.key(page, aspectLife)
	when := time.Duration(1 + key>>8%uint64(60*day))
	switch key % 30 {
	case 0:
		return when, gone
	case 1:
		return 0, when
	}
	return 0, gone
}

func (s *site) alive(page int, elapsed time.Duration) bool {
	born, gone := s.life(page)
	return born <= max(elapsed, 0) && elapsed < gone
}

// traits are the peculiarities of some leaves.
type traits struct {
	noArchive, noIndex, noFollow bool // said in a robots meta element
	private                      bool // in a part that robots.txt forbids
	noise                        bool // bytes differ at every request
}

func (s *site) traits(page int) (t traits) {
	if page == 0 || !s.leaf(page) {
		return t
	}
	key := s.key(page, aspectTraits)
	switch key % 100 {
	case 0, 1:
		t.noArchive = true
	case 2, 3:
		t.noIndex = true
	case 4, 5:
		t.noFollow = true
	}
	t.private = s.habits.private && key>>8%20 == 0
	t.noise = key>>16%25 == 0
	return t
}

func (s *site) process(page int) Process { return NewProcess(s.key(page, aspectProcess)) }

// state is the state of a page at one time.
type state struct {
	version int           // from 1; 0 when the page does not exist
	own     int           // changes of its text
	last    time.Duration // when it last changed, since the web's start
}

// state returns the state of a page. Its version counts the changes of the page's text and the children that have
// appeared.
func (s *site) state(page int, elapsed time.Duration) state {
	if !s.alive(page, elapsed) {
		return state{}
	}
	born, _ := s.life(page)
	own, last := s.process(page).Changes(elapsed)
	st := state{version: 1 + own, own: own, last: max(last, born)}
	first, end := s.childrenOf(page)
	for child := first; child < end; child++ {
		if born, _ := s.life(child); born > 0 && born <= elapsed {
			st.version++
			st.last = max(st.last, born)
		}
	}
	return st
}

// path returns a page's path: the section it is in, two words and its number.
func (s *site) path(page int) string {
	if page == 0 {
		return "/"
	}
	words := s.web.language.words
	key := s.key(page, aspectSlug)
	section := "private"
	if !s.traits(page).private {
		top := page
		for s.parent(top) > 0 {
			top = s.parent(top)
		}
		section = words[s.key(top, aspectSlug)>>40%wordCount]
	}
	return fmt.Sprintf("/%s/%s-%s-%d.html", section, words[key%wordCount], words[key>>20%wordCount], page)
}

// page returns the number of the page at path, if one has it.
func (s *site) page(path string) (int, bool) {
	if path == "/" {
		return 0, true
	}
	n, ok := trailingNumber(path, ".html")
	return n, ok && n > 0 && n < s.pages && s.path(n) == path
}

func (s *site) url(path string) weburl.URL {
	u, err := weburl.Parse("http://" + s.host + path)
	if err != nil {
		panic(err) // a path of ours
	}
	return u
}
