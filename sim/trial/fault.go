package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"freshet/crawl"
	"freshet/store"
	"freshet/weburl"
)

// strike makes a fault happen.
func (t *trial) strike(f *Fault) {
	t.result.Done[string(f.Kind)]++
	t.trace("fault %s: %s for %v", f.Label, f.Kind, f.For)
	switch f.Kind {
	case crash:
		if t.node != nil {
			t.watch.dieNext = f.Again
			t.node.crash(f.For)
			t.turnClock(f.Step)
		}
	case stop:
		if t.node != nil {
			t.node.stop(func() {
				t.turnClock(f.Step)
				t.after(f.For, t.start)
			})
		}
	case slowDisk:
		t.watch.slowDisk++
		t.after(f.For, func() { t.watch.slowDisk-- })
	case refusing, silent, overloaded, failing, noRobots, noName:
		t.trouble(f, 1)
		t.after(f.For, func() {
			t.trouble(f, -1)
			t.watch.shared(f)
			t.trace("fault %s is over", f.Label)
		})
	default:
		if t.node == nil || !t.node.begun || t.node.ending != nil {
			t.trace("nobody takes orders now")
			return
		}
		t.node.command(f)
	}
}

// trouble adds to the troubles of a fault's site. If a name cannot be resolved, it adds to all sites of the host.
func (t *trial) trouble(f *Fault, add int) {
	name := t.c.Sites[f.Site].Name.Name()
	for i, site := range t.c.Sites {
		if i == f.Site || f.Kind == noName && site.Name.Name() == name {
			t.watch.troubles[i][f.Kind] += add
		}
	}
}

// turnClock steps the machine's clock, between two lives.
func (t *trial) turnClock(by time.Duration) {
	t.skew += by
	t.watch.turned(by)
}

// command gives the shard the order of a fault.
func (n *node) command(f *Fault) {
	site := n.c.Sites[f.Site].Name
	u := n.web.url(f.Site, f.Page%n.c.Sites[f.Site].Pages)
	switch f.Kind {
	case pauseAll:
		n.order(crawl.PauseAll{Paused: true})
		n.undo(f.For, func(n *node) { n.order(crawl.PauseAll{}) })
	case pauseSite:
		n.order(crawl.Pause{Site: site, Paused: true})
		n.undo(f.For, func(n *node) {
			n.watch.shared(f)
			n.order(crawl.Pause{Site: site})
		})
	case paceSite:
		n.order(crawl.Pace{Site: site, Delay: new([]time.Duration{time.Second, 20 * time.Second, 10 * time.Minute}[f.Value%3])})
		n.undo(f.For, func(n *node) { n.order(crawl.Pace{Site: site, Delay: new(time.Duration)}) })
	case blockHost:
		block := crawl.Block{Host: site.Host()}
		if f.Value%2 == 0 {
			block.Until = n.clock().Add(f.For)
			if f.For <= 0 {
				block.Until = n.clock().Add(-time.Hour) // an invalid order
			}
		}
		n.order(block)
		n.undo(f.For, func(n *node) { n.order(crawl.Unblock{Host: site.Host()}) })
	case addSeed:
		n.order(crawl.Add{Seeds: []weburl.URL{u, n.web.at(f.Site, fmt.Sprintf("/given/%d", f.Value))}})
	case recrawl:
		n.order(crawl.Recrawl{URL: u})
	case recrawlSite:
		n.order(crawl.RecrawlSite{Site: site})
	case purgePage:
		n.order(crawl.Purge{Target: store.Target{URL: u}})
	case purgeSite:
		n.order(crawl.Purge{Target: store.Target{Site: site}})
	case ping:
		n.order(crawl.Ping{URLs: []weburl.URL{u, n.web.at(f.Site, fmt.Sprintf("/word/%d", f.Value))}})
	case reload, changeBudget:
		next := n.watch.crawl
		if f.Kind == changeBudget && next.Budget > 0 {
			next.Budget = max(20, next.Budget*int64(1+f.Value%5)/2)
		} else {
			next.Delay = []time.Duration{0, time.Second, 30 * time.Second}[f.Value%3]
			next.Excluded = f.Value%2 == 0
			next.PagesPerSite = []int64{0, 12}[f.Value/3%2]
		}
		n.watch.reloading(next)
		n.settings = n.settingsOf(next)
		n.order(crawl.Reload{Settings: n.settings})
	}
}

// undo calls do after a time, in whichever life that is, once that life accepts orders.
func (t *trial) undo(d time.Duration, do func(*node)) {
	t.after(d, func() {
		if t.node == nil || !t.node.begun || t.node.ending != nil {
			if !t.ended && t.now < t.c.Calm() {
				t.undo(10*time.Minute, do)
			}
			return
		}
		do(t.node)
	})
}

// lift undoes the operators' orders for the calm.
func (n *node) lift() {
	if !n.begun || n.ending != nil {
		return // the node calls lift when it begins
	}
	for _, site := range slices.Sorted(maps.Keys(n.watch.paces)) {
		n.order(crawl.Pace{Site: site, Delay: new(time.Duration)})
		if n.trial.node != n {
			return
		}
	}
	for _, key := range n.watch.toggled() {
		what, name, _ := strings.Cut(key, " ")
		switch what {
		case "all":
			n.order(crawl.PauseAll{})
		case "site":
			n.order(crawl.Pause{Site: weburl.Site(name)})
		case "host":
			n.order(crawl.Unblock{Host: name})
		}
		if n.trial.node != n {
			return
		}
	}
}
