package frontier

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/weburl"
)

// TestOrderings holds every ordering to what the frontier relies on: the same answers to the same
// questions, and priorities that can be compared.
func TestOrderings(t *testing.T) {
	names, all := orderings()
	for i, o := range all {
		t.Run(names[i], func(t *testing.T) {
			if parsed, err := ParseOrdering(names[i]); err != nil || parsed != o {
				t.Fatalf("got %v, %v", parsed, err)
			}
			rapid.Check(t, func(t *rapid.T) {
				l := weburl.Link{Depth: rapid.Uint16().Draw(t, "depth"), Cash: rapid.Float64Range(0, 1e9).Draw(t, "cash")}
				if a, b := o.PageOrder(l), o.PageOrder(l); a != b {
					t.Errorf("%v: orders %d and %d", l, a, b)
				}
				s := SiteState{Queued: rapid.IntRange(1, math.MaxInt32).Draw(t, "queued"), Top: Key{Order: o.PageOrder(l), Arrival: 1}, Cash: l.Cash}
				if p, again := o.SitePriority(s), o.SitePriority(s); p != again || math.IsNaN(p) {
					t.Errorf("%+v: priorities %v and %v", s, p, again)
				}
			})
		})
	}
	if _, err := ParseOrdering("best"); err == nil || !strings.Contains(err.Error(), "length, depth") {
		t.Errorf("got %v", err)
	}
}

type noNumber struct{ Length }

func (noNumber) SitePriority(s SiteState) float64 {
	if s.Queued == 1 {
		return math.NaN()
	}
	return 0
}

func TestNaNGoesLast(t *testing.T) {
	w := newWorld(t, args{})
	w.options.Ordering = noNumber{}
	w.f, _ = New(w.options, w.q)
	w.command("site", parseArgs([]string{"http://a.example"}))
	w.command("site", parseArgs([]string{"http://b.example"}))
	w.command("page", parseArgs([]string{"http://a.example", "/1"}))
	w.command("page", parseArgs([]string{"http://b.example", "/1", "/2"}))
	if p, _, ok := w.f.Next(w.now); !ok || p.Site != "http://b.example" {
		t.Errorf("got %+v, %v", p, ok)
	}
}
