package extract

import (
	"slices"
	"strings"

	"freshet/weburl"
)

// Bounds that no option changes.
const (
	maxReference = 8 << 10  // bytes of a reference as it is written; a longer one is dropped
	maxResolved  = 16 << 20 // bytes of all URLs made of one page's references
)

// linkSet keeps links in order of appearance, each URL once and never the page's own, unless repeats are
// asked for.
type linkSet struct {
	own      weburl.URL
	max      int
	repeats  bool // nothing is left out
	index    map[weburl.URL]int
	links    []Link
	resolved int // bytes of URLs so far, repeats included
	dropped  int
}

// reset begins the set of another page. The links of the last one are the caller's.
func (s *linkSet) reset(own weburl.URL, max int) {
	const keep = 4096 // a map stays as large as its fullest page was, and costs that to clear
	if s.index == nil || len(s.index) > keep {
		s.index = make(map[weburl.URL]int)
	}
	clear(s.index)
	*s = linkSet{own: own, max: max, repeats: s.repeats, index: s.index}
}

// expect makes room for n more links.
func (s *linkSet) expect(n int) { s.links = slices.Grow(s.links, n) }

// resolve adds the link with the URL that ref means against the base. A reference that means no
// http or https URL is ignored.
func (s *linkSet) resolve(base weburl.URL, ref string, l Link) {
	if s.resolved >= maxResolved || len(ref) > maxReference {
		s.dropped++
		return
	}
	if isAbsolute([]byte(ref)) {
		ref = strings.Clone(ref) // the URL may keep it, and must not keep with it what it is a part of
	}
	u, err := base.Parse(ref)
	if err != nil {
		return
	}
	s.resolved += len(u.String())
	l.URL = u
	s.add(l)
}

// add keeps a link, or joins it with an earlier one of the same URL: that keeps its place and rel,
// is to be followed if one of the two is, and takes the later date.
func (s *linkSet) add(l Link) {
	if l.URL.IsZero() || l.URL == s.own && !s.repeats {
		return
	}
	if i, known := s.index[l.URL]; known && !s.repeats {
		first := &s.links[i]
		first.NoFollow = first.NoFollow && l.NoFollow
		if l.LastMod.After(first.LastMod) {
			first.LastMod = l.LastMod
		}
		return
	}
	if len(s.links) >= s.max {
		s.dropped++
		return
	}
	s.index[l.URL] = len(s.links)
	s.links = append(s.links, l)
}
