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

// Open reads a web, compressed by gzip or not: a recorded one (Read), which ignores seed, or one that was published
// as a list (ReadListed). A file that looks like neither is read as a recorded one.
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

// ReadListed reads a list of pages with URLs and links as a web, compressed by gzip or not: lines "n NUMBER URL"
// and "e FROM TO" with numbers from 0, or, after a line of the numbers of pages and links, lines "NUMBER URL" with
// numbers from 1 and lines "FROM TO". The sites are those of the URLs, in the order of their first pages. A site's
// home is its root, or its first page if the root is not listed. A list has no sizes of pages and speeds of sites:
// both are drawn from the seed, as for a synthetic web. An error begins with name and the number of the line. It
// takes some 200 bytes a page and 16 a link.
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
			return nil, r.fault("page %.80q: %v", url, err)
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

// listed are the pages of a list by their sites.
type listed struct {
	numbers map[weburl.Site]int
	pages   [][]int // of each site, its home first
	rooted  []bool  // of each site: its home is its root
}

// add puts a page of the list on its site.
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

// web returns a web of the pages, whose links rows are by their places in the list. Sizes and speeds are 0.
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
