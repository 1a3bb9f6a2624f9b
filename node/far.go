package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"freshet/crawl"
	"freshet/weburl"
)

// An order in a cluster concerns pages, a site or a host of some partitions. Whichever node gets the order, the
// node that has a partition carries out its part.

// orderTime is how long an order waits until a node has a partition and has carried it out. If a node is killed,
// another takes its partitions sooner than that.
const orderTime = 30 * time.Second

// askAgain is the wait before the next attempt if no node has a partition.
const askAgain = 200 * time.Millisecond

// mostAsked is the maximum number of URLs in one order to another node.
const mostAsked = 128

// orderFar makes all nodes that an order concerns carry it out.
func (n *Node) orderFar(o crawl.Order) (crawl.Reply, error) {
	ctx, cancel := context.WithTimeout(n.life, orderTime)
	defer cancel()
	switch o := o.(type) {
	case crawl.Reload, crawl.Strike:
		return n.Obey(o)
	case crawl.PauseAll:
		return crawl.Reply{}, n.opt.Cluster.PauseAll(ctx, o.Paused)
	case crawl.Add:
		return n.orderPages(ctx, o.Seeds, func(some []weburl.URL) crawl.Order { return crawl.Add{Seeds: some} })
	case crawl.Ping:
		return n.orderPages(ctx, o.URLs, func(some []weburl.URL) crawl.Order { return crawl.Ping{URLs: some} })
	}
	site := siteOf(o)
	if site == "" { // invalid: any shard returns the error
		return n.Obey(o)
	}
	r, err := n.orderPartition(ctx, n.store.Home(site), o)
	if errors.Is(err, crawl.ErrElsewhere) {
		return r, fmt.Errorf("%w: no node has the partition of %s now. A partition is taken soon after its node has ended: "+
			"look at freshet cluster status, and give the order again", crawl.ErrElsewhere, site)
	}
	return r, err
}

// orderPages sends each part of an order about pages to the owner of its partition. Pages of an unreachable
// partition are refused; the others are not.
func (n *Node) orderPages(ctx context.Context, urls []weburl.URL, about func([]weburl.URL) crawl.Order) (crawl.Reply, error) {
	of := map[weburl.Partition][]weburl.URL{}
	for _, u := range urls {
		p := n.store.Home(u.Site())
		of[p] = append(of[p], u)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	sum := crawl.Reply{Refused: map[string]string{}}
	for p, urls := range of {
		all.Go(func() {
			for len(urls) > 0 {
				some := urls[:min(len(urls), mostAsked)]
				urls = urls[len(some):]
				r, err := n.orderPartition(ctx, p, about(some))
				mu.Lock()
				sum.Count += r.Count
				maps.Copy(sum.Refused, r.Refused)
				for _, u := range some {
					if err != nil {
						sum.Refused[u.String()] = unreached(err)
					}
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return sum, nil
}

// unreached returns why a page's partition could not be reached, and what to do.
func unreached(err error) string {
	if errors.Is(err, crawl.ErrElsewhere) {
		return crawl.Elsewhere + ": no node has its partition now: look at freshet cluster status, and give the order again"
	}
	return err.Error()
}

// orderPartition makes the owner of a partition carry out an order. While there is no owner it tries again. If ctx
// ends, it returns crawl.ErrElsewhere.
func (n *Node) orderPartition(ctx context.Context, p weburl.Partition, o crawl.Order) (crawl.Reply, error) {
	for {
		r, err := n.orderOwner(ctx, p, o)
		if !isElsewhere(r, err) {
			return r, err
		}
		if n.opt.Clock.Sleep(ctx, n.opt.Clock.Span(askAgain)) != nil {
			return crawl.Reply{}, crawl.ErrElsewhere
		}
	}
}

// orderOwner makes the present owner of a partition carry out an order.
func (n *Node) orderOwner(ctx context.Context, p weburl.Partition, o crawl.Order) (crawl.Reply, error) {
	if n.has(p) {
		return n.Obey(o)
	}
	return n.opt.Cluster.Ask(ctx, p, o)
}

// isElsewhere reports whether nothing was done because the receiver does not have the partition.
func isElsewhere(r crawl.Reply, err error) bool {
	if errors.Is(err, crawl.ErrElsewhere) {
		return true
	}
	for _, why := range r.Refused {
		if why == crawl.Elsewhere {
			return true
		}
	}
	return false
}
