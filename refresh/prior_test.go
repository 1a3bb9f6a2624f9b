package refresh

import (
	"fmt"
	"math"
	"testing"
)

// TestPriorFromAbove holds that a new folder starts with the beliefs about the folder above it. One part of a site
// changes between any two visits, the other never does. In the first part, the policy believes pages of a new folder to
// be more than ten times as fast as in the second.
func TestPriorFromAbove(t *testing.T) {
	const pages, days = 30, 60
	x := NewIndex(Default())
	add := func(path string) ID {
		id := ID(len(x.learner.pages))
		x.Add(id, Page{Site: "a", Path: fmt.Sprintf("%s%d", path, id), Weight: 1})
		return id
	}
	for range pages {
		add("/busy/old/")
		add("/still/old/")
	}
	var busy, still ID
	for range pages {
		busy, still = add("/busy/new/"), add("/still/new/")
	}
	for d := range days {
		for id := range ID(2 * pages) {
			outcome := Unchanged
			if id%2 == 0 {
				outcome = Changed
			}
			x.Visited(id, Visit{At: float64(d+1) * 10 * day, Outcome: outcome})
		}
		x.Learn(float64(d+1) * 10 * day)
	}
	now := days * 10 * day
	if fast, slow := x.Due(busy, now).Rate, x.Due(still, now).Rate; !(fast > 10*slow) {
		t.Errorf("pages of the new folder below the busy one change %.4f times a day, below the still one %.4f", fast*day, slow*day)
	}
}

// TestRequisitesSayNothingOfPages holds that pictures which never change do not slow the believed rate of a new page.
// Its rate is that of a new page on a site without pictures.
func TestRequisitesSayNothingOfPages(t *testing.T) {
	const pages, days = 20, 30
	believed := func(pictures bool) float64 {
		x := NewIndex(Default())
		for i := range 2 * pages {
			p := Page{Site: "a", Path: fmt.Sprintf("/%d", i), Weight: 1}
			if p.Apart = i%2 == 1; !p.Apart || pictures {
				x.Add(ID(i), p)
			}
		}
		x.Add(2*pages, Page{Site: "a", Path: "/last", Weight: 1})
		now := 0.0
		for now < days*day {
			now += day
			for i := range 2 * pages {
				if picture := i%2 == 1; !picture {
					x.Visited(ID(i), Visit{At: now, Outcome: Changed})
				} else if pictures {
					x.Visited(ID(i), Visit{At: now, Outcome: Unchanged})
				}
			}
			x.Learn(now)
		}
		return x.Due(2*pages, now).Rate * day
	}
	if with, without := believed(true), believed(false); math.Abs(with-without) > 0.001 || without < 1 {
		t.Errorf("%.4f changes a day with pictures, %.4f without: want the same, above 1", with, without)
	}
}

// TestFewPagesShareNothing holds that a site with too few pages for a group has no shared changes. Visits tell only
// about their own page, and there are no looks.
func TestFewPagesShareNothing(t *testing.T) {
	x := NewIndex(Default())
	few := Default().Folder - 1
	for i := range few {
		x.Add(ID(i), Page{Site: "a", Path: fmt.Sprint(i), Weight: 1})
	}
	for k := range 50 * few {
		now := float64(k+1) * day / float64(few)
		id, _, _ := x.Next(now)
		x.Visited(id, Visit{At: now, Outcome: Changed})
	}
	home := x.learner.forest.sites[0]
	if x.looks.Len() > 0 || len(home.visits) > 0 || len(home.groups[0].shared.periods) > 0 {
		t.Errorf("%d looks, %d visits, %d days of shared changes are kept: want none",
			x.looks.Len(), len(home.visits), len(home.groups[0].shared.periods))
	}
	x.Add(ID(few), Page{Site: "a", Path: "last", Weight: 1, Fresh: 50 * day})
	x.Visited(0, Visit{At: 51 * day, Outcome: Changed})
	if x.looks.Len() != 1 || len(home.visits) != 1 {
		t.Errorf("with a page more: %d looks, %d visits, want 1 and 1", x.looks.Len(), len(home.visits))
	}
}
