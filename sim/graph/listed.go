package graph

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"freshet/sim/discovery"
	"freshet/weburl"
)

// Open reads a web, with or without gzip: a recorded one (Read), which ignores the seed, or one that was published as a
// list (ReadListed). It reads a file that looks like neither as a recorded one.
func Open(in io.Reader, name string, seed uint64) (*Stored, error) {
	plain, err := unzip(in)
	if err != nil {
		return nil, fmt.Errorf("graph: %s: %w", name, err)
	}
	b := bufio.NewReader(plain)
	if first, _ := b.Peek(2); string(first) == "n " || len(first) > 0 && first[0] >= '0' && first[0] <= '9' {
		return ReadListed(b, name, seed)
	}
	return Read(b, name)
}

// ReadListed reads a web from a list of pages with their URLs and links, with or without gzip. There are two forms. In
// the first, lines are "n NUMBER URL" and "e FROM TO", and numbers begin at 0. In the second, the first line has the
// numbers of pages and links. Lines "NUMBER URL", with numbers from 1, and "FROM TO" follow.
//
// The sites are those of the URLs, in the order of their first pages. The home of a site is its root, or its first page
// if the root is not listed. A list has no page sizes and no site speeds: both are drawn from the seed, as for a
// synthetic web. An error begins with name and the line number. It takes about 200 bytes a page and 16 a link.
func ReadListed(in io.Reader, name string, seed uint64) (*Stored, error) {
	r, err := readList(in, name)
	if err != nil {
		return nil, err
	}
	l := listed{numbers: map[weburl.Site]int{}}
	for i, url := range r.urls {
		u, err := weburl.Parse(url)
		if err != nil {
			r.line = r.lines[i]
			return nil, r.fault("page %v", err)
		}
		l.add(i, u)
	}
	w := l.web(r.rows())
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range w.servers {
		w.servers[i] = server(rng)
	}
	for i := range w.bytes {
		w.bytes[i] = float32(pageBytes(rng))
	}
	return w, w.settle(w.Pages())
}

// listed holds the pages of a list by their sites.
type listed struct {
	numbers map[weburl.Site]int
	pages   [][]int // of each site, its home first
	rooted  []bool  // of each site: its home is its root
}

// add adds a page of the list to its site.
func (l *listed) add(page int, u weburl.URL) {
	site, ok := l.numbers[u.Site()]
	if !ok {
		site = len(l.pages)
		l.numbers[u.Site()] = site
		l.pages, l.rooted = append(l.pages, nil), append(l.rooted, false)
	}
	if u.RequestURI() == "/" && !l.rooted[site] {
		l.pages[site], l.rooted[site] = slices.Insert(l.pages[site], 0, page), true
		return
	}
	l.pages[site] = append(l.pages[site], page)
}

// web returns the web of the pages. rows has the links of each page, both in the order of the list. Sizes and speeds
// are 0.
func (l *listed) web(rows [][]uint32) *Stored {
	w := &Stored{bytes: make([]float32, len(rows)), servers: make([]discovery.Server, len(l.pages)), carried: new(carried)}
	place := make([]uint32, len(rows)) // of each page of the list
	placed := uint32(0)
	for _, pages := range l.pages {
		w.homes = append(w.homes, placed)
		for _, page := range pages {
			place[page] = placed
			placed++
		}
	}
	w.first = append(slices.Clone(w.homes), placed)
	c := w.carried
	for _, page := range slices.Concat(l.pages...) {
		c.start = append(c.start, uint32(len(c.names)))
		for _, to := range rows[page] {
			c.names = append(c.names, place[to])
		}
	}
	c.start = append(c.start, uint32(len(c.names)))
	return w
}
