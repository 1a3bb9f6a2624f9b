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

// The seeds of the keys of a block.
const (
	seedText = iota + 1
	seedBegin
	seedLinks
	seedChrome
	seedStamp
)

// keysOf returns the keys under which a block is counted: its text; its text without numbers, and its first words and
// place, if it may be a stamp; and its place alone, if the block is links or if the markup excludes it from the main
// text.
func keysOf(b *block) []uint64 {
	keys := append(make([]uint64, 0, 5), textKey(b))
	if b.maybeStamp() {
		keys = append(keys, stampKey(b), beginKey(b))
	}
	if b.mostlyLinks() {
		keys = append(keys, linksKey(b))
	}
	if b.chrome {
		keys = append(keys, chromeKey(b))
	}
	return keys
}

// textKey is the key of a block's text. Numbers count, because they may be all that a page has to say; but not in
// links, such as those to pages 1, 2 and 3.
func textKey(b *block) uint64 {
	switch {
	case b.heading:
		return xxh3.HashStringSeed(b.text, seedText)
	case b.mostlyLinks():
		return xxh3.HashStringSeed(alike(b.text), seedText)
	}
	return xxh3.HashStringSeed(strings.ToLower(b.text), seedText)
}

func stampKey(b *block) uint64  { return xxh3.HashStringSeed(alike(b.text), seedStamp) }
func beginKey(b *block) uint64  { return xxh3.HashStringSeed(firstWords(b.text), b.place+seedBegin) }
func linksKey(b *block) uint64  { return xxh3.HashStringSeed("", b.place+seedLinks) }
func chromeKey(b *block) uint64 { return xxh3.HashStringSeed("", b.place+seedChrome) }

// repeats reports whether a key is on at least one page in every.
func (s *Site) repeats(key uint64, every int) bool {
	n := int(s.counts[key])
	return n >= fewestPages && n*every >= s.pages
}

// boilerplate returns for every block of a page whether it repeats across the site: its text is on one page in every.
func (s *Site) boilerplate(p *Page, every int) []bool {
	n := len(p.blocks)
	repeated, framed, out := make([]bool, n), make([]bool, n), make([]bool, n)
	margin, stamp := make([]bool, n), make([]bool, n)
	for i := range p.blocks {
		b := &p.blocks[i]
		repeated[i] = s.repeats(textKey(b), every)
		framed[i] = b.frame || b.chrome && s.repeats(chromeKey(b), everyMargin)
		margin[i] = repeated[i] || framed[i] || b.mostlyLinks() && s.repeats(linksKey(b), everyMargin)
		stamp[i] = !margin[i] && b.maybeStamp() && (s.repeats(stampKey(b), every) || s.repeats(beginKey(b), everyMargin))
	}
	first, last := inner(n, func(i int) bool { return margin[i] })
	if f, l := inner(n, func(i int) bool { return margin[i] || stamp[i] }); p.areStamps(margin, stamp, f, l) {
		first, last = f, l
	}
	link := func(i int) bool { return repeated[i] && p.blocks[i].mostlyLinks() }
	for i := range out {
		inList := link(i) && (i > first && link(i-1) || i < last && link(i+1))
		out[i] = i < first || i > last || framed[i] || repeated[i] && !p.blocks[i].heading && (p.blocks[i].words >= fewWords || inList)
	}
	return out
}

// inner returns the first and the last of n blocks that are not at a margin. first is greater if there are none.
func inner(n int, margin func(i int) bool) (first, last int) {
	for first < n && margin(first) {
		first++
	}
	last = n - 1
	for last > first && margin(last) {
		last--
	}
	return first, last
}

// mostStamps is how many stamps a page may have above its text, and below.
const mostStamps = 3

// areStamps reports whether the blocks before first and after last that look like stamps are stamps: they are few, and
// the page has more text than they. If not, they may be all that the page says, such as figures of a day.
func (p *Page) areStamps(margin, stamp []bool, first, last int) bool {
	above, below, stamps, own := 0, 0, 0, 0
	for i := range p.blocks {
		b := &p.blocks[i]
		switch {
		case first <= i && i <= last:
			if !margin[i] && !b.heading {
				own += len(b.text)
			}
		case !stamp[i]:
		case i < first:
			above, stamps = above+1, stamps+len(b.text)
		default:
			below, stamps = below+1, stamps+len(b.text)
		}
	}
	return above <= mostStamps && below <= mostStamps && own > stamps
}

// maybeStamp reports whether a block may be a stamp: a line of the margin with a number in it, such as "Last modified
// on …".
func (b *block) maybeStamp() bool {
	const longest = 200 // bytes
	return !b.heading && len(b.text) < longest && strings.ContainsAny(b.text, "0123456789")
}
