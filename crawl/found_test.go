package crawl

import (
	"slices"
	"testing"
	"time"

	"freshet/refresh"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// TestPausedSleeps holds that a paused crawl waits for an order, and does not ask to be called at once.
func TestPausedSleeps(t *testing.T) {
	w := newWorld(t)
	w.set("budget", "100", true)
	w.settings.Seeds = []weburl.URL{parse(t, "http://a.test/")}
	w.open()
	w.run(time.Minute)
	w.order(PauseAll{true})
	for range 10 {
		w.now = w.now.Add(time.Second)
		w.step()
	}
	work, err := w.shard.Step(w.now)
	check(w.t, err)
	if !work.Wake.IsZero() && !work.Wake.After(w.now) {
		t.Errorf("paused at %v, to be called again at %v", w.now, work.Wake)
	}
}

// TestCountsOnce holds that the status counts pages once if one page discovers them together, even if its links
// alternate between new sites.
func TestCountsOnce(t *testing.T) {
	w := newWorld(t)
	w.settings.Scope = "any"
	w.settings.Seeds = []weburl.URL{parse(t, "http://a.test/")}
	w.web["http://a.test/"] = &page{status: 200, links: []string{
		"http://b.test/1", "http://c.test/1", "http://b.test/2", "http://c.test/2", "http://b.test/3",
	}}
	w.open()
	for range 1000 {
		w.run(10 * time.Millisecond)
		total, err := w.store.Total()
		check(w.t, err)
		if total.New < 5 {
			continue
		}
		w.run(diskTakes)
		if told := w.shard.Status(w.now).Queues.QueuedNew; told != 5 {
			t.Errorf("5 pages wait, %d are counted", told)
		}
		return
	}
	t.Fatal("the links are not discovered")
}

// TestRemembersFailing holds that the crawl keeps a page fresh after a restart even if all its stored visits failed.
func TestRemembersFailing(t *testing.T) {
	w := newWorld(t)
	w.set("budget", "1000", true)
	w.set("interval", "1h", true)
	w.settings.Retries = 0
	root := parse(t, "http://a.test/")
	w.settings.Seeds = []weburl.URL{root}
	w.web[root.String()] = &page{status: 200}
	w.open()
	w.run(time.Minute)
	w.web[root.String()].status = 500
	w.run(time.Hour)
	row, fp, err := w.store.PageOf(root)
	check(w.t, err)
	visits, err := w.store.Visits(w.store.Home(root.Site()), fp)
	check(w.t, err)
	if slices.ContainsFunc(visits, func(v store.Visit) bool { return v.Complete }) {
		t.Fatalf("after %d visits one of those kept has not failed", row.Visits)
	}
	w.stop(true)
	w.open()
	if _, kept := w.shard.Refreshing(root, fp, w.now); !kept {
		t.Error("the page is not kept fresh any more")
	}
}

// TestRemembersSteps sets the clock back between visits. A visit teaches nothing if its time is later than the time of
// a visit after it, or later than now. That holds whether the crawl starts again soon or much later.
func TestRemembersSteps(t *testing.T) {
	visits := []store.Visit{
		{At: 30, Complete: true}, {At: 100, Complete: true, Changed: true}, {At: 40, Complete: true},
		{At: 90, Complete: true, Changed: true}, {At: 110, Complete: true}, {At: 105, Complete: true, Changed: true},
	}
	for _, test := range []struct {
		made int // visits made so far
		now  int64
		want []refresh.Outcome
	}{
		{2, 35, []refresh.Outcome{refresh.Unchanged}},
		{3, 50, []refresh.Outcome{refresh.Unchanged, refresh.Unchanged}},
		// the visits at 30, 40, 90 and 105
		{6, 1000, []refresh.Outcome{refresh.Unchanged, refresh.Unchanged, refresh.Changed, refresh.Changed}},
	} {
		told := appendRemembered(nil, 0, &store.Page{}, visits[:test.made], len(visits), test.now)
		if got := outcomes(told); !slices.Equal(got, test.want) {
			t.Errorf("at %d, after %d visits: told %v, want %v", test.now, test.made, got, test.want)
		}
	}
}

// TestRemembersAnew has a page go and come back. The visits before teach about other pages. The page starts again.
func TestRemembersAnew(t *testing.T) {
	missing := store.Visit{Outcome: store.OutcomeMissing}
	visits := []store.Visit{
		{Complete: true, Changed: true}, {Complete: true}, missing, missing, {Complete: true, Changed: true}, missing, {Complete: true},
	}
	for i := range visits {
		visits[i].At = int64(10 + 10*i)
	}
	told := appendRemembered(nil, 0, &store.Page{}, visits, len(visits), 1000)
	want := []refresh.Outcome{refresh.Changed, refresh.Unchanged, refresh.Unknown, refresh.Unknown, refresh.Changed,
		refresh.Unknown, refresh.Unchanged}
	if got := outcomes(told); !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	for i, v := range told {
		if v.gone != (i == 3) {
			t.Errorf("gone after visit %d: %v", i, v.gone)
		}
	}
}

// TestRemembersVisitsAhead holds that the crawl does not leave a page alone until the time of another node's clock has
// come. A visit whose time lies ahead of this node's clock teaches nothing. If the page has no other visit, it counts
// as a visit now.
func TestRemembersVisitsAhead(t *testing.T) {
	visits := []store.Visit{
		{At: 100e9, Complete: true, Changed: true}, {At: 300e9, Complete: true, Changed: true}, {At: 400e9, Complete: true},
	}
	told := appendRemembered(nil, 0, &store.Page{}, visits, len(visits), 200e9)
	if len(told) != 1 || told[0].at != 100 {
		t.Errorf("told %+v", told)
	}
	told = appendRemembered(nil, 0, &store.Page{}, visits[1:], len(visits), 200e9)
	if len(told) != 1 || told[0].at != 200 || told[0].outcome != refresh.Unchanged {
		t.Errorf("told %+v", told)
	}
	told = appendRemembered(nil, 0, &store.Page{LastChanged: 300e9}, nil, 1, 200e9)
	if len(told) != 1 || told[0].at != 200 {
		t.Errorf("told %+v", told)
	}
}

func outcomes(told []remembered) (all []refresh.Outcome) {
	for _, v := range told {
		all = append(all, v.outcome)
	}
	return all
}

// TestDecidedMeanwhile holds that the shard does not wait for links that a drain has already decided, even if they came
// after the shard asked for that drain.
func TestDecidedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.settings.Wait = true
	w.open()
	w.run(time.Minute)
	for range 3 {
		w.shard.offers.fresh, w.shard.offers.offered = true, w.shard.now.Add(-time.Minute)
		w.shard.offers.timing = seen.Timing{}
		check(w.t, w.shard.drainIfDue())
	}
	if w.shard.offers.undecided() {
		t.Error("nothing waits in the seen test, and links are taken for undecided")
	}
}

// TestGivenAwayBeforeItIsObeyed has a partition given away between the moments at which its pages are to be looked at
// under new rules, and at which the rows are free for that.
func TestGivenAwayBeforeItIsObeyed(t *testing.T) {
	w := newWorld(t)
	w.settings.Wait = true
	w.open()
	w.run(time.Minute)
	s, site := w.shard, weburl.Site("http://a.test")
	s.obeys.waiting[site] = true
	s.whenFree(func() error {
		delete(s.obeys.waiting, site) // as forgetSites does
		return nil
	})
	check(t, s.obey())
	for len(s.changes) > 0 {
		check(t, s.change())
	}
	if s.obeys.busy() {
		t.Error("the shard waits for sites that it has given away")
	}
}
