package frontier

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/weburl"
)

// TestOrderings holds that every ordering gives the same answers to the same questions, and priorities that can be
// compared. The frontier relies on both.
func TestOrderings(t *testing.T) {
	names, all := simple()
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

// TestHeldPages holds that pages outside the batch stay where they are, while pages of the batch go.
func TestHeldPages(t *testing.T) {
	var q MemoryQueues
	f, err := New(Options{Ordering: Batch{Every{Pages: 1}}, PerConnection: 5}, &q)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1e9, 0)
	batch := Batch{Every{Pages: 1}}
	add := func(site weburl.Site, order uint64, arrival uint64) Entry {
		e := Entry{Key: Key{order, arrival}, Fingerprint: weburl.Fingerprint(arrival)}
		q.Add(site, KindNew, e)
		f.RobotsDone(site, now.AddDate(1, 0, 0), 0, now)
		f.Discovered(site, []Entry{e}, now)
		return e
	}
	first := add("http://a.example", batch.PageOrder(weburl.Link{}), 1)
	add("http://b.example", batch.PageOrder(weburl.Link{}), 2)
	if p, wake, ok := f.Next(now); ok || !wake.IsZero() {
		t.Fatalf("got %+v, wake %v", p, wake)
	}
	chosen := first
	chosen.Key.Order = batch.RankOrder(0.5, 0, 1)
	q.Remove("http://a.example", KindNew, first.Key)
	q.Add("http://a.example", KindNew, chosen)
	f.Moved("http://a.example", KindNew, first, chosen, now)
	add("http://a.example", batch.RankOrder(0.4, 1, 1), 3)
	p, _, ok := f.Next(now)
	if !ok || p.Fingerprint != 1 {
		t.Fatalf("got %+v, %v", p, ok)
	}
	f.Done(p, Answer{Kept: true}, now)
	if p, _, ok := f.Next(now); ok {
		t.Errorf("got %+v on the open connection", p)
	}
}

func TestParseOrdering(t *testing.T) {
	for name, want := range map[string]Ordering{
		"opic": OPIC{}, "cash-sum": CashSum{}, "in-links": InLinks{}, "batch": Batch{Every{Pages: 10_000}},
		"batch:500": Batch{Every{Pages: 500}}, "partial:50%": Partial{Every{Share: 0.5}},
	} {
		if o, err := ParseOrdering(name); err != nil || fmt.Sprint(o) != fmt.Sprint(want) || fmt.Sprintf("%T", o) != fmt.Sprintf("%T", want) {
			t.Errorf("%s: %T %v, error %v", name, o, o, err)
		}
	}
	for _, name := range []string{"batch:", "batch:0", "partial:-1%", "partial:101%", "partial:NaN%", "length:5", "optimal"} {
		if o, err := ParseOrdering(name); err == nil {
			t.Errorf("%s: got %v", name, o)
		}
	}
	if size := (Every{Share: 0.014}).Size(1000, 0); size != 14 {
		t.Errorf("1.4 %% of 1000 is %d", size)
	}
}

// TestRequisitesGoFirst holds that the orderings by depth or cash put no page before a requisite, within a site or
// among sites.
func TestRequisitesGoFirst(t *testing.T) {
	for _, o := range []Ordering{Depth{}, InLinks{}, OPIC{}, Partial{Every{Pages: 1}}} {
		requisite := PageOrder(o, weburl.Link{Rel: weburl.RelEmbed, Depth: 9})
		page := PageOrder(o, weburl.Link{Rel: weburl.RelAnchor, Depth: 1, Cash: 1e9})
		first, second := SiteState{Queued: 1, Top: Key{Order: requisite}}, SiteState{Queued: 1, Top: Key{Order: page}}
		if requisite >= page || priority(o, first) <= priority(o, second) {
			t.Errorf("%T: a requisite has order %d and its site priority %g, a page %d and %g", o,
				requisite, priority(o, first), page, priority(o, second))
		}
	}
}
