package rival

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"freshet/refresh"
)

// Sampling is the rule of Cho and Ntoulas (VLDB 2002). In each cycle it visits a random sample of every folder. Then
// it visits all pages of the folder whose sample changed most, then of the next folder, and so on. It ignores
// weights.
type Sampling struct {
	share   float64 // of all pages, to visit in a cycle
	random  *rand.Rand
	pages   []member
	folders []*folder
	byName  map[string]*folder
	known   int
	left    int          // visits left in this cycle
	samples []refresh.ID // still to be visited
	ranked  []*folder    // the first is being visited; nil until all samples are taken
	turn    int          // in it
	cycle   int
}

// member is a page.
type member struct {
	folder *folder // nil: there is no such page
	index  int     // in it
	out    bool
	cycle  int // of its last visit
}

// folder is a folder, with the result of this cycle's sample.
type folder struct {
	pages            []refresh.ID
	visited, changed float64
	whole            int // the last cycle in which all its pages were visited
}

// NewSampling returns the rule. Each cycle visits a share of all pages. The sample of a folder with n pages is
// √(n·share), at least one.
func NewSampling(share float64, random *rand.Rand) *Sampling {
	return &Sampling{share: share, random: random, byName: map[string]*folder{}}
}

// Add adds the page to its folder.
func (s *Sampling) Add(id refresh.ID, p refresh.Page) {
	for int(id) >= len(s.pages) {
		s.pages = append(s.pages, member{})
	}
	if s.pages[id].folder != nil {
		panic(fmt.Sprintf("rival: page %d is added twice", id))
	}
	name := p.Site + "\n" + p.Path[:strings.LastIndexByte(p.Path, '/')+1]
	f := s.byName[name]
	if f == nil {
		f = &folder{}
		s.byName[name] = f
		s.folders = append(s.folders, f)
	}
	s.pages[id] = member{folder: f, index: len(f.pages)}
	f.pages = append(f.pages, id)
	s.known++
}

// Remove forgets the page.
func (s *Sampling) Remove(id refresh.ID) {
	m := s.must(id)
	f := m.folder
	last := f.pages[len(f.pages)-1]
	f.pages[m.index] = last
	s.pages[last].index = m.index
	f.pages = f.pages[:len(f.pages)-1]
	*m = member{}
	s.known--
}

// Weigh changes nothing.
func (s *Sampling) Weigh(id refresh.ID, _ float64) { s.must(id) }

// Visited counts the visit for the folder, unless it failed.
func (s *Sampling) Visited(id refresh.ID, v refresh.Visit) {
	m := s.must(id)
	m.out, m.cycle = false, s.cycle
	switch v.Outcome {
	case refresh.Changed:
		m.folder.changed++
		fallthrough
	case refresh.Unchanged:
		m.folder.visited++
	}
}

// Next returns a page of the samples, or, after these, one of the folder that is being visited.
func (s *Sampling) Next(now float64) (refresh.ID, float64, bool) {
	for range 2 { // this cycle, or the next
		for s.left > 0 {
			id, ok := s.pop()
			if !ok {
				break
			}
			if m := &s.pages[id]; m.folder != nil && !m.out && m.cycle != s.cycle {
				s.left--
				m.out = true
				return id, now, true
			}
		}
		s.begin()
	}
	return 0, math.Inf(1), false
}

// begin begins a cycle with a sample of each folder.
func (s *Sampling) begin() {
	s.cycle++
	s.left = max(1, int(s.share*float64(s.known)))
	s.samples, s.ranked, s.turn = s.samples[:0], nil, 0
	for _, f := range s.folders {
		f.visited, f.changed = 0, 0
		n := min(len(f.pages), max(1, int(math.Sqrt(s.share*float64(len(f.pages))))))
		for _, at := range s.random.Perm(len(f.pages))[:n] {
			s.samples = append(s.samples, f.pages[at])
		}
	}
	s.random.Shuffle(len(s.samples), func(i, j int) { s.samples[i], s.samples[j] = s.samples[j], s.samples[i] })
}

// pop returns the next page: first of the samples, then of the folders. Folders whose samples changed most come first.
// Among equals, the one that has waited longest comes first.
func (s *Sampling) pop() (refresh.ID, bool) {
	if n := len(s.samples); n > 0 {
		id := s.samples[n-1]
		s.samples = s.samples[:n-1]
		return id, true
	}
	if s.ranked == nil {
		s.ranked = slices.SortedStableFunc(slices.Values(s.folders), func(a, b *folder) int {
			return cmp.Or(cmp.Compare(b.ratio(), a.ratio()), cmp.Compare(a.whole, b.whole))
		})
	}
	for len(s.ranked) > 0 {
		f := s.ranked[0]
		if s.turn < len(f.pages) {
			s.turn++
			return f.pages[s.turn-1], true
		}
		f.whole = s.cycle
		s.ranked, s.turn = s.ranked[1:], 0
	}
	return 0, false
}

// ratio returns the share of the sample that has changed.
func (f *folder) ratio() float64 { return f.changed / math.Max(1, f.visited) }

func (s *Sampling) must(id refresh.ID) *member {
	if int(id) >= len(s.pages) || s.pages[id].folder == nil {
		panic(fmt.Sprintf("rival: no page %d", id))
	}
	return &s.pages[id]
}
