package weights

import "fmt"

// A Slot is a place among the results of a query: a position on a result page, both counted from 1. The zero value
// means that the page was not returned.
type Slot struct {
	Page     int32 // k
	Position int32 // j
}

// State is whether a page had changed since the copy that answered the query was made.
type State int8

// The states. The zero value means that nobody checked.
const (
	Unknown State = iota
	Fresh
	Stale
)

// Answer is what the user found after a click on a page that had changed.
type Answer int8

// The answers. The zero value means that nobody judged.
const (
	Unjudged Answer = iota
	Right           // changed, but still an answer
	Wrong
	Broken // the link leads nowhere
)

// A Sighting is the result of one query for one page.
type Sighting struct {
	Page    int  // number of the page, from 0
	Slot    Slot // zero if the query did not return it
	Clicked bool
	State   State
	Answer  Answer // of a clicked page that was stale; ignored otherwise
}

// A Tree counts how sightings ended: the branches of Wolf et al. 2002, Figure 2, and two more for what the log does not
// say. Every sighting is counted in exactly one branch.
type Tree struct {
	Fresh       int `json:"fresh"`
	NotReturned int `json:"stale_not_returned"`
	NotClicked  int `json:"stale_not_clicked"`
	Right       int `json:"stale_still_right"`
	Wrong       int `json:"stale_wrong"`
	Broken      int `json:"stale_broken_link"`
	Unjudged    int `json:"stale_not_judged"` // clicked, but it is not known what the user found
	Unknown     int `json:"state_unknown"`
}

// Embarrassments returns the number of clicks that led to a wrong answer or a broken link.
func (t Tree) Embarrassments() int { return t.Wrong + t.Broken }

// branch returns the counter of a sighting's branch.
func (t *Tree) branch(s Sighting) *int {
	switch {
	case s.State == Unknown:
		return &t.Unknown
	case s.State == Fresh:
		return &t.Fresh
	case s.Slot == Slot{}:
		return &t.NotReturned
	case !s.Clicked:
		return &t.NotClicked
	case s.Answer == Right:
		return &t.Right
	case s.Answer == Wrong:
		return &t.Wrong
	case s.Answer == Broken:
		return &t.Broken
	}
	return &t.Unjudged
}

// A Log keeps the statistics of a log of queries. The zero value is empty and ready to use. Not for concurrent use.
type Log struct {
	tree    Tree
	queries int
	timed   bool    // the time of some query is known
	first   float64 // of these times, in seconds
	last    float64
	until   float64        // when the log ends; 0: with the last query
	known   int            // pages that queries could have returned
	slots   map[Slot]int32 // index in tallies
	tallies []slotTally    // in the order in which the slots came up
	pages   []pageTally
}

// slotTally is what happened at one slot, over all pages.
type slotTally struct {
	slot          Slot
	shown, clicks int
}

// pageTally is what happened to one page.
type pageTally struct {
	shown         int
	at            []slotCount // the slots at which it was shown, in the order in which they came up
	judged, wrong int
}

type slotCount struct {
	slot  int32
	shown int
}

// Query begins a query. The sightings that follow belong to it.
func (l *Log) Query() { l.queries++ }

// At sets the time of the query that began last, in seconds from any origin.
func (l *Log) At(seconds float64) {
	if !l.timed {
		l.timed, l.first, l.last = true, seconds, seconds
	}
	l.first, l.last = min(l.first, seconds), max(l.last, seconds)
}

// Until declares that the log has no more queries up to a time, which is in the seconds of At.
func (l *Log) Until(seconds float64) { l.until = seconds }

// PerDay returns the mean number of queries a day. A log without times, or with only one, counts as one day. A log with
// an end set by Until counts as at least one day.
func (l *Log) PerDay() float64 {
	const day = 86400
	span := l.last - l.first
	if l.until != 0 {
		span = max(day, l.until-l.first)
	}
	if span <= 0 || !l.timed {
		span = day
	}
	return float64(l.queries) * day / span
}

// Queries returns the number of queries that have begun.
func (l *Log) Queries() int { return l.queries }

// Tree returns how many sightings ended in which way.
func (l *Log) Tree() Tree { return l.tree }

// Rate returns the embarrassment rate: the wrong answers and broken links that users met, per query. It is 0 for an
// empty log.
func (l *Log) Rate() float64 {
	if l.queries == 0 {
		return 0
	}
	return float64(l.tree.Embarrassments()) / float64(l.queries)
}

// Known makes the log know pages 0 to n-1. Every query could have returned them: for a query without a sighting of a
// page, the page counts as not returned.
func (l *Log) Known(n int) { l.known = max(l.known, n) }

// Pages returns how many pages the log knows.
func (l *Log) Pages() int { return l.known }

// page returns what happened to a page that the log knows.
func (l *Log) page(i int) *pageTally {
	if i >= len(l.pages) && i < l.known {
		return &pageTally{}
	}
	return &l.pages[i]
}

// Add adds a sighting. It panics if the page is negative, if the slot has a negative number or only one number, or if
// the page was clicked but not returned. O(slots at which the page was shown).
func (l *Log) Add(s Sighting) {
	returned := s.Slot.Page > 0 && s.Slot.Position > 0
	if s.Page < 0 || !returned && (s.Slot != Slot{} || s.Clicked) {
		panic(fmt.Sprintf("weights: no such sighting: %+v", s))
	}
	l.Known(s.Page + 1)
	*l.tree.branch(s)++
	if !returned {
		return
	}
	for len(l.pages) <= s.Page {
		l.pages = append(l.pages, pageTally{})
	}
	slot := l.slot(s.Slot)
	l.tallies[slot].shown++
	l.pages[s.Page].show(slot)
	if s.Clicked {
		l.click(s, slot)
	}
}

// Click records that a sighting that was added as not clicked has been clicked after all. s is the sighting with the
// click. Click returns false, and changes nothing, if the log has no such sighting. O(slots at which the page was
// shown).
func (l *Log) Click(s Sighting) bool {
	slot, known := l.slots[s.Slot]
	if !known || l.tallies[slot].clicks == l.tallies[slot].shown || s.Page >= len(l.pages) || l.pages[s.Page].times(slot) == 0 {
		return false
	}
	s.Clicked = false
	unclicked := l.tree.branch(s)
	if *unclicked == 0 {
		return false
	}
	s.Clicked = true
	*unclicked--
	*l.tree.branch(s)++
	l.click(s, slot)
	return true
}

// click counts a click on a result at a slot.
func (l *Log) click(s Sighting, slot int32) {
	l.tallies[slot].clicks++
	if s.State == Stale && s.Answer != Unjudged {
		page := &l.pages[s.Page]
		page.judged++
		if s.Answer != Right {
			page.wrong++
		}
	}
}

// slot returns the index of a slot. It adds the slot if it is new.
func (l *Log) slot(s Slot) int32 {
	index, known := l.slots[s]
	if !known {
		if l.slots == nil {
			l.slots = make(map[Slot]int32)
		}
		index = int32(len(l.tallies))
		l.slots[s] = index
		l.tallies = append(l.tallies, slotTally{slot: s})
	}
	return index
}

// times returns how often the page was shown at a slot.
func (p *pageTally) times(slot int32) int {
	for _, at := range p.at {
		if at.slot == slot {
			return at.shown
		}
	}
	return 0
}

// show counts that the page was shown at a slot.
func (p *pageTally) show(slot int32) {
	p.shown++
	for i := range p.at {
		if p.at[i].slot == slot {
			p.at[i].shown++
			return
		}
	}
	p.at = append(p.at, slotCount{slot, 1})
}
