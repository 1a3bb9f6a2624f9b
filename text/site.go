package text

import (
	"strings"

	"github.com/zeebo/xxh3"
)

const (
	fewestPages = 4  // on which a block repeats
	everySite   = 10 // a block repeats if it is on one page of this many
	// the same for blocks at the margin in one place, and for blocks that the markup excludes from the main text
	everyMargin = 2
	maxCounters = 8_192 // of a site
)

// RipePages is from how many pages a site must have learned to be known.
const RipePages = 8

// A Site knows which blocks repeat across the pages of a site. It holds at most 8,192 counters. When there are more,
// it lowers all by one and drops those at zero (Misra, Gries 1982, "Finding repeated elements"). So a count is too
// low by at most one page in 8,192 blocks seen, and the site learns a new template in time. The zero value knows no
// pages. Not for concurrent use.
type Site struct {
	pages  int
	counts map[uint64]uint32
}

// Pages returns how many pages the site has learned from.
func (s *Site) Pages() int { return s.pages }

// Ripe reports whether the site has seen enough pages to know what repeats.
func (s *Site) Ripe() bool { return s != nil && s.pages >= RipePages }

// Bytes returns about how much memory the site takes.
func (s *Site) Bytes() int {
	const fixed, counter = 512, 24
	return fixed + counter*len(s.counts)
}

// Settle ends the learning. It drops the counters of what does not repeat: most of them, and none that decides
// anything.
func (s *Site) Settle() {
	repeating := map[uint64]uint32{}
	for key, n := range s.counts {
		if s.repeats(key, everySite) { // and so all that repeat at a margin
			repeating[key] = n
		}
	}
	s.counts = repeating
}

// Learn counts the blocks of a page. Call it once per page, and not after Settle.
func (s *Site) Learn(p *Page) {
	if s.counts == nil {
		s.counts = map[uint64]uint32{}
	}
	s.pages++
	own := make(map[uint64]bool, 3*len(p.blocks))
	for i := range p.blocks {
		for _, key := range keysOf(&p.blocks[i]) {
			if !own[key] {
				own[key] = true
				s.count(key)
			}
		}
	}
}

func (s *Site) count(key uint64) {
	if _, known := s.counts[key]; known || len(s.counts) < maxCounters {
		s.counts[key]++
		return
	}
	for other, n := range s.counts {
		if n == 1 {
			delete(s.counts, other)
		} else {
			s.counts[other] = n - 1
		}
	}
}

// The seeds of the three keys of a block.
const (
	seedText = iota + 1
	seedBegin
	seedLinks
	seedChrome
)

// keysOf returns the keys under which a block is counted: its text; its first words and place; and its place alone,
// if the block is links or if the markup excludes it from the main text.
func keysOf(b *block) []uint64 {
	keys := append(make([]uint64, 0, 4), textKey(b), beginKey(b))
	if b.mostlyLinks() {
		keys = append(keys, linksKey(b))
	}
	if b.chrome {
		keys = append(keys, chromeKey(b))
	}
	return keys
}

func textKey(b *block) uint64 {
	if b.heading {
		return xxh3.HashStringSeed(b.text, seedText) // some headings differ only in the number of the chapter
	}
	return xxh3.HashStringSeed(alike(b.text), seedText)
}

func beginKey(b *block) uint64  { return xxh3.HashStringSeed(firstWords(b.text), b.place+seedBegin) }
func linksKey(b *block) uint64  { return xxh3.HashStringSeed("", b.place+seedLinks) }
func chromeKey(b *block) uint64 { return xxh3.HashStringSeed("", b.place+seedChrome) }

// repeats reports whether a key is on at least one page in every.
func (s *Site) repeats(key uint64, every int) bool {
	n := int(s.counts[key])
	return n >= fewestPages && n*every >= s.pages
}

// boilerplate returns for every block of a page whether it repeats across the site.
func (s *Site) boilerplate(p *Page) []bool {
	repeated, out := make([]bool, len(p.blocks)), make([]bool, len(p.blocks))
	framed := make([]bool, len(p.blocks))
	for i := range p.blocks {
		b := &p.blocks[i]
		repeated[i] = s.repeats(textKey(b), everySite)
		framed[i] = b.frame || b.chrome && s.repeats(chromeKey(b), everyMargin)
	}
	atMargin := func(i int) bool {
		b := &p.blocks[i]
		out[i] = repeated[i] || framed[i] || b.isStamp() && s.repeats(beginKey(b), everyMargin) || b.mostlyLinks() && s.repeats(linksKey(b), everyMargin)
		return out[i]
	}
	first := 0
	for first < len(p.blocks) && atMargin(first) {
		first++
	}
	last := len(p.blocks) - 1
	for last > first && atMargin(last) {
		last--
	}
	link := func(i int) bool { return repeated[i] && p.blocks[i].mostlyLinks() }
	for i := first; i <= last; i++ {
		inList := link(i) && (i > first && link(i-1) || i < last && link(i+1))
		out[i] = framed[i] || repeated[i] && !p.blocks[i].heading && (p.blocks[i].words >= fewWords || inList)
	}
	return out
}

// isStamp reports whether a block may be a line of the margin such as "Last modified on …".
func (b *block) isStamp() bool {
	const longest = 200 // bytes
	return !b.heading && len(b.text) < longest && strings.ContainsAny(b.text, "0123456789")
}
