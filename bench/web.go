package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"sync/atomic"
	"time"
)

const (
	pageSize  = 20 << 10 // bytes of a page, at least; it ends with the paragraph that reaches this
	pageLinks = 40

	// maxHosts is the most hosts of a web. Each has an address of its own and an open file that listens at it.
	maxHosts = 10000
)

// How many links of a page lead to other hosts, and the most that may: the others must include its children.
const (
	defaultForeign = 10
	maxForeign     = 30
)

// A web is a fixed set of pages that link to each other. Page 0 of each host is its home, and every
// page can be reached from the home of its host.
type web struct {
	foreign int              // links of a page to other hosts
	latency time.Duration    // of each answer
	hosts   []string         // "127.1.0.1:8099"
	pages   []map[string]int // of each host: from path to index
	body    [][]byte         // of each page, the answer as written: header and body
	head    []int            // of each page, length of the header
	count   []atomic.Uint32  // of each page, the requests for it
	other   atomic.Uint64    // requests for anything else, robots.txt for one
	conns   atomic.Uint64    // connections accepted
	last    atomic.Int64     // unix nanoseconds of the last request for a page
}

// newWeb makes a web of hosts and pages; foreign links of a page lead to other hosts. The same arguments give the
// same web.
func newWeb(seed uint64, hosts, pages, foreign, port int) *web {
	w := &web{foreign: foreign, body: make([][]byte, pages), head: make([]int, pages), count: make([]atomic.Uint32, pages)}
	for h := range hosts {
		w.hosts = append(w.hosts, fmt.Sprintf("127.1.%d.%d:%d", h/254, h%254+1, port))
		w.pages = append(w.pages, map[string]int{})
	}
	text := newProse(rand.New(rand.NewPCG(seed, 1)))
	paths := make([]string, pages)
	for i := range paths {
		paths[i] = "/"
		if i >= hosts {
			paths[i] = fmt.Sprintf("/%s/%s-%s-%d.html", text.words[i%23], text.word(), text.word(), i)
		}
		w.pages[i%hosts][paths[i]] = i
	}
	for i := range w.body {
		page := text.page(paths[i], w.links(text.rng, i, paths))
		header := fmt.Sprintf("HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n", len(page))
		w.body[i] = append([]byte(header), page...)
		w.head[i] = len(header)
	}
	return w
}

// links returns the references on a page: its seven children in a tree of its host, so that every page is
// reachable, then other pages of the host, then pages of other hosts. One in eight has a fragment.
func (w *web) links(rng *rand.Rand, page int, paths []string) []string {
	hosts, pages := len(w.hosts), len(paths)
	host, place := page%hosts, page/hosts
	links := []string{"/"}
	for child := place*7 + 1; child <= place*7+7; child++ {
		if i := child*hosts + host; i < pages {
			links = append(links, paths[i])
		}
	}
	for len(links) < pageLinks-w.foreign {
		if i := rng.IntN(pages/hosts)*hosts + host; i < pages {
			links = append(links, paths[i])
		}
	}
	for len(links) < pageLinks {
		i := rng.IntN(pages)
		links = append(links, "http://"+w.hosts[i%hosts]+paths[i])
	}
	for i := range links {
		if rng.IntN(8) == 0 {
			links[i] += fmt.Sprintf("#s%d", rng.IntN(6))
		}
	}
	return links
}

// seeds returns the home page of each host.
func (w *web) seeds() []string {
	var seeds []string
	for _, host := range w.hosts {
		seeds = append(seeds, "http://"+host+"/")
	}
	return seeds
}

// A tally is how often the pages of a web were requested since the last tally.
type tally struct {
	once, more    int       // pages requested exactly once, and more often
	other, opened uint64    // requests for anything else; connections
	last          time.Time // of the requests for pages
}

// take returns the tally and begins the next.
func (w *web) take() tally {
	t := tally{other: w.other.Swap(0), opened: w.conns.Swap(0), last: time.Unix(0, w.last.Swap(0))}
	for i := range w.count {
		switch n := w.count[i].Swap(0); {
		case n == 1:
			t.once++
		case n > 1:
			t.more++
		}
	}
	return t
}

// prose writes text that compresses about as well as natural language: its words have uneven frequencies and
// preferred neighbours.
type prose struct {
	rng   *rand.Rand
	words []string
	bound []float64 // cumulative frequency of each word
	likes [][3]int  // of each word, those that often follow it
	last  int       // the word written last
}

func newProse(rng *rand.Rand) *prose {
	const vocabulary = 8000
	onsets := strings.Fields("b c ch d f g gr h k l m n p pr r s sh st t th tr v w")
	middles := strings.Fields("a e i o u ea io ou")
	ends := strings.Fields("n r s t l d m nd nt st ck ng ry ly te ne ss")
	p := &prose{rng: rng}
	known := map[string]bool{}
	sum := 0.0
	for len(p.words) < vocabulary {
		var b strings.Builder
		for range 1 + rng.IntN(1+min(3, len(p.words)/50)) {
			b.WriteString(onsets[rng.IntN(len(onsets))])
			b.WriteString(middles[rng.IntN(len(middles))])
		}
		b.WriteString(ends[rng.IntN(len(ends))])
		if known[b.String()] {
			continue
		}
		known[b.String()] = true
		p.words = append(p.words, b.String())
		sum += 1 / math.Pow(float64(len(p.words))+1.5, 1.1)
		p.bound = append(p.bound, sum)
	}
	for range p.words {
		p.likes = append(p.likes, [3]int{p.draw(), p.draw(), p.draw()})
	}
	return p
}

// draw returns a word by its frequency alone.
func (p *prose) draw() int {
	return sort.SearchFloat64s(p.bound, p.rng.Float64()*p.bound[len(p.bound)-1])
}

func (p *prose) word() string {
	if p.rng.IntN(5) < 2 {
		p.last = p.likes[p.last][p.rng.IntN(3)]
	} else {
		p.last = p.draw()
	}
	return p.words[p.last]
}

// sentence writes a sentence, with one of the links in it if there are any left.
func (p *prose) sentence(b *bytes.Buffer, links *[]string) {
	n := 6 + p.rng.IntN(18)
	at := -1
	if len(*links) > 0 && p.rng.IntN(3) > 0 {
		at = 1 + p.rng.IntN(n-1)
	}
	for i := range n {
		word := p.word()
		switch {
		case i == 0:
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		case i == at:
			fmt.Fprintf(b, ` <a href="%s" class="ref">%s %s</a>`, (*links)[0], word, p.word())
			*links = (*links)[1:]
		case p.rng.IntN(40) == 0:
			fmt.Fprintf(b, " <em>%s</em>", word)
		case p.rng.IntN(14) == 0:
			b.WriteString(", " + word)
		default:
			b.WriteString(" " + word)
		}
	}
	b.WriteString(". ")
}

// page writes a page with all the links in it.
func (p *prose) page(path string, links []string) []byte {
	var b bytes.Buffer
	title := p.word() + " " + p.word() + " " + p.word()
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>%s</title>\n<meta name=\"description\" content=\"%s %s\">\n", title, path, p.word())
	b.WriteString("<style>body { font: 16px/1.5 serif; max-width: 44em } nav a { padding: 0 .5em }</style>\n</head>\n<body>\n<nav><ul>\n")
	for range 12 {
		fmt.Fprintf(&b, "  <li class=\"item\"><a href=\"%s\">%s</a></li>\n", links[0], p.word())
		links = links[1:]
	}
	fmt.Fprintf(&b, "</ul></nav>\n<article>\n<h1>%s</h1>\n", title)
	for section := 0; b.Len() < pageSize-200 || len(links) > 0; section++ {
		if section%4 == 0 {
			fmt.Fprintf(&b, "<h2 id=\"s%d\">%s %s</h2>\n", section/4, p.word(), p.word())
		}
		b.WriteString("<p class=\"text\">")
		for range 3 + p.rng.IntN(5) {
			p.sentence(&b, &links)
		}
		b.WriteString("</p>\n")
	}
	b.WriteString("</article>\n<footer><p>" + p.word() + " " + p.word() + "</p></footer>\n</body>\n</html>\n")
	return b.Bytes()
}
