package replay

import (
	"context"
	"slices"
	"testing"

	"freshet/lab"
	"freshet/refresh"
)

// TestWhittle compares the learner's rate with one computed by hand: if five of ten daily crawls saw a change, the
// page changes about once a day. A page that changed more often is visited sooner.
func TestWhittle(t *testing.T) {
	if got, want := (crawls{number: 10, changed: 5, time: 10}).rate(), 5.5*11/(10*5.5); got != want {
		t.Errorf("rate %v, want %v", got, want)
	}
	w := newWhittle()
	for id := range refresh.ID(2) {
		w.Add(id, refresh.Page{Weight: 1})
	}
	for n := range 10 {
		at := float64(n+1) * day
		w.Visited(0, refresh.Visit{At: at, Outcome: refresh.Unchanged})
		w.Visited(1, refresh.Visit{At: at, Outcome: []refresh.Outcome{refresh.Changed, refresh.Unchanged}[n%2]})
	}
	if id, _, ok := w.Next(11 * day); !ok || id != 1 {
		t.Errorf("page %d (%v), want the one that changes", id, ok)
	}
}

// TestFloor holds that a floor of all visits is uniform, and that under one of half of them no page waits longer than
// two rounds.
func TestFloor(t *testing.T) {
	w := drawn(200, 40*day)
	run := func(p refresh.Policy) Reached {
		reached, err := Run(context.Background(), w, p, nil, Rules{Rate: 50 / day})
		if err != nil {
			t.Fatal(err)
		}
		return reached
	}
	whole := run(newFloor(refresh.NewIndex(refresh.Default()), 1))
	if uniform := run(refresh.NewUniform()); !slices.Equal(whole.Pages, uniform.Pages) {
		t.Error("a floor of all visits is not uniform")
	}
	for i, s := range run(newFloor(refresh.NewIndex(refresh.Default()), 0.5)).Pages {
		if s.Crawls < 40/8-1 {
			t.Errorf("page %d: %v visits, want one in eight days or more", i, s.Crawls)
		}
	}
}

// TestTaught holds that policies learn from free daily visits, and that visits in the scored part still cost their
// budget.
func TestTaught(t *testing.T) {
	w := drawn(200, 120*day)
	w.Score = 40 * day
	run := func(taught bool) (all Score) {
		policy := refresh.NewIndex(refresh.Default())
		reached, err := Run(context.Background(), w, policy, nil, Rules{Rate: 4 / day, Taught: taught})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range reached.Pages {
			all.Add(s, 1)
		}
		return all
	}
	blind, taught := run(false), run(true)
	if taught.Freshness() <= blind.Freshness() || taught.Crawls != blind.Crawls {
		t.Errorf("%.3f fresh with %v visits, without lessons %.3f with %v", taught.Freshness(), taught.Crawls, blind.Freshness(), blind.Crawls)
	}
}

// drawn returns a world of pages that change each at its own rate, from one in two days to one in a thousand.
func drawn(pages int, window float64) *World {
	random := lab.Random(1, 9)
	w := &World{Window: window, Score: window}
	for i := range pages {
		l := Life{Site: "s", Path: "/p", End: window}
		mean := 2 * day
		for range i % 10 {
			mean *= 2
		}
		for at := random.ExpFloat64() * mean; at < window; at += random.ExpFloat64() * mean {
			l.Updates = append(l.Updates, at)
		}
		w.Lives = append(w.Lives, l)
	}
	return w
}
