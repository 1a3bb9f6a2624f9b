package trial

import (
	"errors"
	"fmt"
	"time"

	"freshet/crawl"
	"freshet/store"
	"freshet/weburl"
)

// At some steps the trial starts a second shard from what is stored, as if the crawl had ended at that step and begun
// again. It compares when each site may be asked with the shard that goes on: never earlier, and not much later.

// A restart is what a second shard starts from.
type restart struct {
	crawl.Rows
	clean bool
}

func (r restart) Start() store.Start { return store.Start{Clean: r.clean} }

// twinEvery is the mean number of steps between two restarts that are tried.
const twinEvery = 40

// restartsKeep checks that a restart now would keep the gates of all hosts. The restart comes after a while, and the
// machine's clock may be set back before it.
func (w *watch) restartsKeep(n *node) {
	steps := w.t.result.Steps
	if !n.begun || n.over != "" || w.t.draw("twin", steps) >= 1./twinEvery {
		return
	}
	p := pause{was: n.clock(), took: oneOf(w.t.draw("down", steps), 0, 0, time.Second, time.Hour)}
	p.back = oneOf(w.t.draw("back", steps), 0, 0, time.Minute, 24*time.Hour)
	p.is = p.was.Add(p.took - p.back)
	p.clean = len(n.turns) == 0 && !n.appending && n.shard.MayStopClean(p.was)
	twin, err := crawl.New(restart{n.rows(), p.clean || n.plant == "unclean-as-clean"}, readOnly{n.seen}, n.shard.Settings(), p.is)
	w.t.must(err)
	defer twin.Close()
	for i := range w.t.c.Sites {
		site := w.t.c.Sites[i].Name
		was, is := obstacles(n.shard, site, p.was), obstacles(twin, site, p.is)
		if was == nil || is == nil {
			continue // none of its pages waits
		}
		w.hostKept(n, site, was, is, p)
		if len(n.orders) == 0 && !n.appending {
			for _, gate := range []string{"paused", "blocked", "hours"} {
				w.gateKept(site, gate, was, is, p)
			}
		}
	}
}

func oneOf(draw float64, of ...time.Duration) time.Duration { return of[int(draw*float64(len(of)))] }

// A pause is the time between the end of one life and the begin of the next.
type pause struct {
	was, is    time.Time // the end and the begin, by the machine's clock
	took, back time.Duration
	clean      bool
}

// String says how the restart comes about.
func (p pause) String() string {
	return fmt.Sprintf("%v later, clock set back by %v, clean %v", p.took, p.back, p.clean)
}

// obstacles returns what keeps a site from being asked, by gate; nil if the shard does not hold it.
func obstacles(s *crawl.Shard, site weburl.Site, now time.Time) map[string]time.Time {
	all := map[string]time.Time{}
	for _, o := range s.Obstacles(site, now) {
		all[o.Gate] = o.Until
	}
	if _, unknown := all["unknown"]; unknown {
		return nil
	}
	return all
}

// hostKept compares how long a site waits for its host and its robots.txt before a restart and after.
func (w *watch) hostKept(n *node, site weburl.Site, was, is map[string]time.Time, p pause) {
	paced, sure := w.pacesOf(site.Name())
	if !sure {
		return
	}
	gate, err := n.store.Gate(n.store.Home(site), site.Name())
	if !errors.Is(err, store.ErrNotFound) {
		w.t.must(err)
	}
	h := w.host(site)
	_, busy := was["busy"]
	lost := busy || h.met && !h.durable // what the host answered last, or will
	for _, e := range n.turns {
		lost = lost || !e.appended && (e.URL.Site().Name() == site.Name() || e.Page.Site().Name() == site.Name())
	}
	before, after := left(was, p.was), left(is, p.is)
	least, own := max(0, before-p.took), max(w.ownInterval(n, site, gate), paced)
	if lost && !p.clean || w.askedAnew(n, site) || w.t.now < w.eased { // lost and clean: it was lost in an earlier life
		least = 0
	}
	if !p.clean && h.met {
		least = max(least, w.delayOf(site))
	}
	most := max(least, before-p.took)
	if w.setBack || p.back > 0 || lost { // the stored gate may be of a clock that was ahead
		most = max(most, own, time.Duration(gate.Next-gate.End), w.storedDelay(n, site))
	} else if !p.clean {
		most = max(most, own)
	}
	if after < least || after > most {
		w.fail("restart", "%s waits %v after a restart (%v), want %v to %v: it waited %v before", site, after, p, least, most, before)
	}
	needs := func(all map[string]time.Time) bool {
		_, asks := all["robots"]
		_, fails := all["robots-unreachable"]
		_, elsewhere := all["robots-elsewhere"]
		return asks || fails || elsewhere
	}
	if needs(was) && !needs(is) && !lost && p.back == 0 {
		w.fail("restart", "pages of %s wait for its robots.txt, and do not after a restart (%v)", site, p)
	}
}

// askedAnew reports whether a new run asks a host without its back-off, because the host has not answered for a
// robots.txt and none was ever had.
func (w *watch) askedAnew(n *node, site weburl.Site) bool {
	for other := range w.sites {
		row, err := n.store.Site(other)
		if err == nil && other.Name() == site.Name() && row.Robots.Kept == 0 && row.Robots.Outcome == store.OutcomeFailed {
			return true
		}
	}
	return false
}

// ownInterval returns the longest interval that a host may have. While several reloads wait, the shard's settings may
// be neither the old nor the last ones.
func (w *watch) ownInterval(n *node, site weburl.Site, gate store.Gate) time.Duration {
	own := max(time.Duration(gate.IntervalNs), n.shard.Settings().Delay, w.crawl.Delay, w.crawl.SiteDelay, w.host(site).interval)
	if w.former != nil {
		own = max(own, w.former.Delay)
	}
	for other, r := range w.robots {
		if other.Name() == site.Name() {
			own = max(own, r.delay)
		}
	}
	return own
}

// storedDelay returns the longest Crawl-delay in the stored robots.txt of a host's sites. It may be older than what the
// host has sent.
func (w *watch) storedDelay(n *node, site weburl.Site) (longest time.Duration) {
	for other := range w.robots {
		if other.Name() != site.Name() {
			continue
		}
		body, err := n.store.RobotsBody(other)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			w.t.must(err)
		}
		longest = max(longest, parsed(string(body)).delay)
	}
	return longest
}

// left returns how long a site waits for its host's interval or back-off.
func left(all map[string]time.Time, now time.Time) time.Duration {
	wait := time.Duration(0)
	for _, gate := range []string{"interval", "back-off"} {
		if until, ok := all[gate]; ok {
			wait = max(wait, until.Sub(now))
		}
	}
	return wait
}

// gateKept checks that an operator's gate is shut after a restart if and only if it was before, unless it has opened.
func (w *watch) gateKept(site weburl.Site, gate string, was, is map[string]time.Time, p pause) {
	until, shut := was[gate]
	still, stays := is[gate]
	opened := shut && !until.IsZero() && !until.After(p.is)
	if shut != stays && !opened && p.took+p.back == 0 || shut && !stays && !opened && gate != "hours" || shut && stays && gate == "blocked" && !until.Equal(still) {
		w.fail("restart", "%s is %s: %v until %v, after a restart (%v) %v until %v", site, gate, shut, until, p, stays, still)
	}
}
