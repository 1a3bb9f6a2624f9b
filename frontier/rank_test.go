package frontier

import (
	"slices"
	"testing"

	"freshet/weburl"
)

// TestPlaces holds that Places sorts pages by rank, then site, then arrival. Ranks that differ by rounding alone are
// equal. A batch takes as many pages as its size. Places leaves out the pages that stay where they are.
func TestPlaces(t *testing.T) {
	waiting := func() []Waiting {
		return []Waiting{
			{Page: 0, Site: 1, Arrival: 3, Rank: 0.1},
			{Page: 1, Site: 0, Arrival: 9, Rank: 0.1 + 1e-12},
			{Page: 2, Site: 1, Arrival: 2, Rank: 0.1 - 1e-12},
			{Page: 3, Site: 2, Arrival: 1, Rank: 0.4, Order: weburl.CashOrder(significant(0.4))},
			{Page: 4, Site: 0, Arrival: 4, Rank: 0.2, Order: held},
			{Page: 5, Site: 0, Arrival: 5, Rank: 0.01, Order: held},
		}
	}
	for name, test := range map[string]struct {
		ordering Ranked
		size     int
		moved    []uint32
		held     int // of these
	}{
		"partial":            {Partial{Every{Pages: 2}}, 2, []uint32{4, 1, 2, 0, 5}, 0},
		"batch":              {Batch{Every{Pages: 3}}, 3, []uint32{4, 1, 2, 0}, 2},
		"a batch of all":     {Batch{Every{Pages: 9}}, 6, []uint32{4, 1, 2, 0, 5}, 0},
		"a batch of the top": {Batch{Every{Pages: 1}}, 1, []uint32{1, 2, 0}, 3},
	} {
		var pages []uint32
		holds := 0
		for _, w := range Places(test.ordering, waiting(), test.size) {
			pages = append(pages, w.Page)
			if w.Order >= held {
				holds++
			} else if got := weburl.OrderCash(w.Order); got != w.Rank {
				t.Errorf("%s: page %d stands at %v, has rank %v", name, w.Page, got, w.Rank)
			}
		}
		if !slices.Equal(pages, test.moved) || holds != test.held {
			t.Errorf("%s: moved %v, %d of them held, want %v and %d", name, pages, holds, test.moved, test.held)
		}
	}
	if moved := Places(Batch{}, nil, 0); len(moved) > 0 {
		t.Errorf("of none: %v", moved)
	}
}

// TestSize holds how many pages leave the queues until the next ranking.
func TestSize(t *testing.T) {
	for name, test := range map[string]struct {
		ordering             Ranked
		known, waiting, want int
	}{
		"pages":                {Partial{Every{Pages: 200}}, 1000, 10, 200},
		"a share":              {Partial{Every{Share: 0.014}}, 1000, 10, 14},
		"a batch":              {Batch{Every{Pages: 200}}, 1000, 900, 200},
		"a batch of few":       {Batch{Every{Pages: 200}}, 1000, 10, 10},
		"a batch when none is": {Batch{Every{Pages: 200}}, 1000, 0, 0},
		"a share of nothing":   {Partial{Every{Share: 0.014}}, 0, 0, 1},
	} {
		if got := test.ordering.Size(test.known, test.waiting); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// TestRound holds when the next ranking is due.
func TestRound(t *testing.T) {
	for name, test := range map[string]struct {
		left, came, size int
		due              bool
		remain           int
	}{
		"enough have left":        {3, 0, 3, true, 0},
		"one is missing":          {2, 9, 3, false, 1},
		"nothing waits":           {0, 0, 0, false, 0},
		"one comes where none is": {0, 1, 0, true, 0},
	} {
		var r Round
		for range test.left {
			r.Left()
		}
		for range test.came {
			r.Came()
		}
		if _, ok := r.Remaining(); ok || r.Due() {
			t.Errorf("%s: due before the ranking is done", name)
		}
		r.Ranked(test.size)
		if remain, ok := r.Remaining(); r.Due() != test.due || remain != test.remain || !ok {
			t.Errorf("%s: due %v, %d remain", name, r.Due(), remain)
		}
	}
}
