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

// linkSet keeps links in order of appearance, each URL once and never the page's own, unless repeats are
// asked for.
type linkSet struct {
	own      weburl.URL
	opt      *Options
	left     int64 // bytes that links may still take
	granted  int64 // of them, asked for
	index    map[weburl.URL]int
	links    []Link
	resolved int // bytes of URLs so far, repeats included
	dropped  int
}

// reset begins the set of another page. The links of the last one are the caller's.
func (s *linkSet) reset(own weburl.URL, opt *Options) {
	const keep = 4096 // a map stays as large as its fullest page was, and costs that to clear
	if s.index == nil || len(s.index) > keep {
		s.index = make(map[weburl.URL]int)
	}
	clear(s.index)
	*s = linkSet{own: own, opt: opt, left: opt.MaxLinkBytes, granted: freeBytes, index: s.index}
}

// What a link takes beside its URL, which is there once as it is written and once as it is resolved: its place here, in
// the index, among those that wait for the base, and in what the caller makes of it. Of a page's links freeBytes need
// not be asked for, and more is asked for in that size.
const (
	linkBytes = 200
	freeBytes = 64 << 10
)

// charge takes what a link with a URL of so many bytes holds. It returns false if it may not.
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
