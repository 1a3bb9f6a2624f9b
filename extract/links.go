package extract

import (
	"slices"
	"strings"

	"freshet/weburl"
)

// Bounds that no option changes.
const (
	maxReference = 8 << 10  // bytes of a reference as it is written; a longer one is dropped
	maxResolved  = 16 << 20 // bytes of all URLs made of one page's references, repeats included
)

// linkSet keeps links in order of appearance. It keeps each URL once, and not the page's own, unless Options.Repeats
// is set.
type linkSet struct {
	own      weburl.URL
	opt      *Options
	left     int64 // bytes that links may still take
	granted  int64 // of them, granted by Room
	index    map[weburl.URL]int
	links    []Link
	resolved int // bytes of URLs so far, repeats included
	dropped  int
}

// reset starts the set of another page. The links of the last page belong to the caller.
func (s *linkSet) reset(own weburl.URL, opt *Options) {
	const keep = 4096 // a map stays as large as its fullest page was, and costs that to clear
	if s.index == nil || len(s.index) > keep {
		s.index = make(map[weburl.URL]int)
	}
	clear(s.index)
	*s = linkSet{own: own, opt: opt, left: opt.MaxLinkBytes, granted: freeBytes, index: s.index}
}

// The memory of a link apart from its URL, which exists as written and as resolved: its place here, in the index,
// among those that wait for the base, and in the caller's copies. The first freeBytes of a page's links need no call
// of Room. Each further call asks for freeBytes.
const (
	linkBytes = 200
	freeBytes = 64 << 10
)

// charge takes memory for a link whose URL has this many bytes. It returns false if the bound or Room does not allow
// it.
func (s *linkSet) charge(url int) bool {
	bytes := linkBytes + 2*int64(url)
	if bytes > s.left {
		return false
	}
	for bytes > s.granted {
		if s.opt.Room(freeBytes) != nil {
			s.left = 0
			return false
		}
		s.granted += freeBytes
	}
	s.left -= bytes
	s.granted -= bytes
	return true
}

// expect makes room for n more links.
func (s *linkSet) expect(n int) { s.links = slices.Grow(s.links, n) }

// resolve resolves ref against base and adds the link. It ignores a reference that gives no http or https URL.
func (s *linkSet) resolve(base weburl.URL, ref string, l Link) {
	if s.resolved >= maxResolved || len(ref) > maxReference {
		s.dropped++
		return
	}
	if isAbsolute(ref) {
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

// add keeps a link, or merges it with an earlier one with the same URL. The earlier one keeps its place and relation.
// It may be followed if either may, and gets the later date.
func (s *linkSet) add(l Link) {
	if l.URL.IsZero() || l.URL == s.own && !s.opt.Repeats {
		return
	}
	if i, known := s.index[l.URL]; known && !s.opt.Repeats {
		first := &s.links[i]
		first.NoFollow = first.NoFollow && l.NoFollow
		if l.LastMod.After(first.LastMod) {
			first.LastMod = l.LastMod
		}
		return
	}
	if len(s.links) >= s.opt.MaxLinks || !s.charge(len(l.URL.String())) {
		s.dropped++
		return
	}
	s.index[l.URL] = len(s.links)
	s.links = append(s.links, l)
}
