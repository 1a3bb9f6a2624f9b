package refresh

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestFoldersAreBounded holds that a page costs a bounded number of folders, however long its path is, and that pages
// below the last level belong to it.
func TestFoldersAreBounded(t *testing.T) {
	const pages = 100
	x := NewIndex(Default())
	for id := range ID(pages) {
		x.Add(id, Page{Site: "s", Path: strings.Repeat(fmt.Sprintf("/%d", id), 1000) + "/page", Weight: 1})
	}
	if n := len(x.learner.forest.folders); n != 1+levels*pages {
		t.Errorf("%d pages have %d folders, want %d each and the site", pages, n, levels)
	}
	deep := strings.Repeat("/0", levels)
	x.Add(pages, Page{Site: "s", Path: deep, Weight: 1})
	at := x.learner.forest.named[pages]
	if own := x.learner.pages[0].folder; at != own {
		t.Errorf("the page %s has the name of folder %d, want %d", deep, at, own)
	}
	x.Add(pages+1, Page{Site: "s", Path: deep + "/0", Weight: 1})
	if at, ok := x.learner.forest.named[pages+1]; ok {
		t.Errorf("a page below the last level has the name of folder %d", at)
	}
}

// TestVisitsAreBounded holds that the number of remembered visits of a large site has a bound, however many visits it
// had.
func TestVisitsAreBounded(t *testing.T) {
	const pages = 3000
	x := NewIndex(Default())
	for id := range ID(pages) {
		x.Add(id, Page{Site: "s", Path: fmt.Sprintf("/%d/%d", id%20, id), Weight: 1})
	}
	home := x.learner.forest.sites[0]
	for n := range 6 * pages {
		at := float64(n+1) * day / 100
		x.Visited(ID(n%pages), Visit{At: at, Outcome: Outcome(1 + n%7/6)})
		if n%10 == 0 {
			x.Learn(at)
		}
		if most := 2 * memoryOfSite; len(home.visits) > most {
			t.Fatalf("%d visits are remembered after %d, want at most %d", len(home.visits), n, most)
		}
	}
}

// TestTalliesAreBounded holds that learning shared changes takes memory for the days that remembered visits cover, not
// for all days of a crawl, and that a copy of decades ago does not change that.
func TestTalliesAreBounded(t *testing.T) {
	const pages, years = 60, 12
	x := NewIndex(Default())
	for id := range ID(pages) {
		x.Add(id, Page{Site: "s", Path: fmt.Sprintf("/%d/%d", id%3, id), Weight: 1})
	}
	most := func() (days int) {
		for _, t := range [][]tally{x.learner.scratch.count, x.learner.scratch.exposed} {
			for _, one := range t {
				days = max(days, cap(one.sums))
			}
		}
		return days
	}
	for d := 1; d < years*365; d++ {
		at := float64(d) * day
		x.Visited(ID(d%pages), Visit{At: at, Outcome: Outcome(1 + d%7/6)})
		x.Learn(at)
	}
	if n := most(); n > 3*memoryDays {
		t.Errorf("after %d years, tallies of %d days, want %d at most", years, n, 3*memoryDays)
	}
	x.Add(pages, Page{Site: "s", Path: "/0/old", Weight: 1})
	x.Visited(pages, Visit{At: years * 365 * day, Outcome: Changed})
	x.Learn((years*365 + 3) * day)
	if n := most(); n > 2*longestSpan {
		t.Errorf("after a visit to an old copy, tallies of %d days, want %d at most", n, 2*longestSpan)
	}
	for id := range ID(pages + 1) {
		if c := x.Copy(id, (years*365+4)*day); !(c.Stale >= 0 && c.Stale <= 1) {
			t.Errorf("page %d is stale with probability %v", id, c.Stale)
		}
	}
}

// TestPastIsToldAgain holds that visits can be replayed to a learner that knows later ones. A node does so when it
// gets back a partition that it gave away.
func TestPastIsToldAgain(t *testing.T) {
	const pages, days = 100, 25
	x := NewIndex(Default())
	tell := func() {
		for id := range ID(pages) {
			x.Add(id, Page{Site: "s", Path: fmt.Sprintf("/%d/%d", id%5, id), Weight: 1})
		}
		for n := range days * 100 {
			at := float64(n+1) * day / 100
			x.Visited(ID(n%pages), Visit{At: at, Outcome: Outcome(1 + n%7/6)})
			x.Learn(at)
		}
	}
	tell()
	before := x.Copy(1, (days+1)*day).Stale
	for id := range ID(pages) {
		x.Remove(id)
	}
	tell()
	if after := x.Copy(1, (days+1)*day).Stale; math.Abs(after-before) > 0.05 {
		t.Errorf("a page is stale with %.3f, and with %.3f when its visits are told again", before, after)
	}
}
