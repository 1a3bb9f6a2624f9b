package node

import (
	"testing"
	"testing/synctest"
	"time"

	"freshet/clock"
	"freshet/crawl"
	"freshet/store"
)

// TestGather holds how long a shard of a cluster waits for the word that its last group is durable, and what ends the
// wait early.
func TestGather(t *testing.T) {
	groups := func(pages, changes int) []*group {
		g := &group{}
		for i := range pages + changes {
			var v *visit
			if i < pages {
				v = &visit{}
			}
			g.visits = append(g.visits, v)
			g.appends = append(g.appends, crawl.Append{Records: []store.Record{&store.Fetched{}}})
		}
		return []*group{g}
	}
	for _, c := range []struct {
		name   string
		alone  bool
		ago    time.Duration // since the last word
		groups []*group
		only   bool          // no other visit is under way
		order  time.Duration // when somebody waits for an order, for a second; 0: nobody
		asks   bool          // the order is a request for another shard
		wait   time.Duration
	}{
		{name: "a page after a quiet time", ago: time.Second, groups: groups(1, 0)},
		{name: "a page soon after another", ago: 3 * time.Millisecond, groups: groups(1, 0), wait: 97 * time.Millisecond},
		{name: "a process alone", alone: true, ago: 3 * time.Millisecond, groups: groups(1, 0)},
		{name: "changes without a page", ago: 3 * time.Millisecond, groups: groups(0, 1)},
		{name: "changes beside a page", ago: 3 * time.Millisecond, groups: groups(1, 1), wait: 97 * time.Millisecond},
		{name: "the only visit", ago: 3 * time.Millisecond, groups: groups(1, 0), only: true},
		{name: "many pages", ago: 3 * time.Millisecond, groups: groups(128, 0)},
		{name: "an order", ago: 3 * time.Millisecond, groups: groups(1, 0), order: 50 * time.Millisecond, wait: 50 * time.Millisecond},
		{name: "a request for another shard", ago: 3 * time.Millisecond, groups: groups(1, 0), order: 50 * time.Millisecond, asks: true, wait: 97 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &Node{hurry: make(chan struct{}, 1), quit: make(chan struct{}), failed: make(chan struct{})}
				n.opt.Clock = clock.Real()
				if !c.alone {
					n.opt.Cluster = quietCluster{}
				}
				n.visiting.Store(200)
				if c.only {
					n.visiting.Store(1)
				}
				ordered := make(chan struct{})
				go func() {
					defer close(ordered)
					if c.order > 0 {
						time.Sleep(c.order)
						l := &loop{Node: n, ended: make(chan struct{}), mail: newMailbox()}
						if c.asks {
							time.AfterFunc(time.Second, func() { l.mail.take()[0].reply <- crawl.Reply{} })
							_, _ = n.reply(l, l.order(crawl.AskRobots{}))
							return
						}
						reply := make(chan crawl.Reply, 1)
						time.AfterFunc(time.Second, func() { reply <- crawl.Reply{} })
						_, _ = n.await(l, reply)
					}
				}()
				began := n.opt.Clock.Now()
				n.gather(c.groups, began.Add(-c.ago))
				if waited := n.opt.Clock.Now().Sub(began); waited != c.wait {
					t.Errorf("it waits %v, want %v", waited, c.wait)
				}
				if c.order > 0 && !c.asks {
					began := n.opt.Clock.Now()
					n.gather(c.groups, began)
					if waited := n.opt.Clock.Now().Sub(began); waited != 0 {
						t.Errorf("while an order is waited for it waits %v", waited)
					}
				}
				<-ordered
			})
		})
	}
}

// quietCluster is a cluster of which nothing is asked.
type quietCluster struct{ Cluster }
