package node

import (
	"context"
	"fmt"
	"maps"
	"time"

	"freshet/crawl"
	"freshet/weburl"
)

// Orders go to the shards that they concern, and the replies are joined. In a cluster, orders about pages, sites
// and hosts go to the nodes that have the partitions (far.go).

// order makes every shard and node that an order concerns carry it out, and waits for the replies.
func (n *Node) order(o crawl.Order) (crawl.Reply, error) {
	if n.opt.Cluster == nil {
		return n.Obey(o)
	}
	return n.orderFar(o)
}

// Obey makes all shards of the node that an order concerns carry it out, and waits for the replies. It returns
// crawl.ErrElsewhere if another node has the partition.
func (n *Node) Obey(o crawl.Order) (sum crawl.Reply, err error) {
	if o, asks := o.(crawl.AskRobots); asks {
		return n.askFor(o)
	}
	if _, purges := o.(crawl.Purge); purges {
		defer signal(n.keeper.purge)
	}
	n.moving.RLock()
	defer n.moving.RUnlock()
	replies := map[*loop]<-chan crawl.Reply{}
	for l, part := range n.parts(o) {
		replies[l] = l.order(part)
	}
	sum.Refused = map[string]string{}
	for l, reply := range replies {
		r, err := n.await(l, reply)
		if err != nil {
			return crawl.Reply{}, err
		}
		maps.DeleteFunc(r.Refused, func(u, why string) bool { return why == crawl.Elsewhere && n.hasPage(u) })
		sum.Count += r.Count
		maps.Copy(sum.Refused, r.Refused)
	}
	return sum, nil
}

// robotsTime is how long a node waits for another node's answer to an AskRobots.
const robotsTime = 4 * time.Minute

// askRobots makes the owner of a URL's host request it, and reports the answer to the shard.
func (l *loop) askRobots(u weburl.URL) {
	var r crawl.Reply
	var err error
	if o := (crawl.AskRobots{URL: u}); l.opt.Cluster == nil || l.has(l.store.Home(u.Site())) {
		r, err = l.askFor(o)
	} else {
		ctx, cancel := context.WithTimeout(l.life, robotsTime)
		defer cancel()
		r, err = l.opt.Cluster.Ask(ctx, l.store.Home(u.Site()), o)
	}
	if err != nil {
		r = crawl.Reply{}
	}
	l.mail.put(letter{event: crawl.RobotsTold{URL: u, Robots: r.Robots, Wait: r.Wait}})
}

// askFor makes the shard that owns a URL's host request the URL, and waits for its reply. It holds up no hand-over.
// Groups are gathered meanwhile: the reply waits for a server, which may take long, and for no record.
func (n *Node) askFor(o crawl.AskRobots) (crawl.Reply, error) {
	l := n.owner(o.URL.Site())
	return n.reply(l, l.order(o))
}

// order passes an order to a shard.
func (l *loop) order(o crawl.Order) <-chan crawl.Reply {
	reply := make(chan crawl.Reply, 1)
	l.mail.put(letter{event: crawl.Ordered{Number: l.orders.Add(1), Order: o}, reply: reply})
	return reply
}

// await waits for a shard's reply. Meanwhile groups are not gathered.
func (n *Node) await(l *loop, reply <-chan crawl.Reply) (crawl.Reply, error) {
	n.awaited.Add(1)
	defer n.awaited.Add(-1)
	signal(n.hurry)
	return n.reply(l, reply)
}

// reply waits for a shard's reply.
func (n *Node) reply(l *loop, reply <-chan crawl.Reply) (crawl.Reply, error) {
	select {
	case r := <-reply:
		return r, r.Err
	case <-n.failed:
		return crawl.Reply{}, fmt.Errorf("crawl: it has stopped: %w", n.err)
	case <-l.ended:
		return crawl.Reply{}, errClosed
	}
}

// parts divides an order among shards.
func (n *Node) parts(o crawl.Order) map[*loop]crawl.Order {
	parts := map[*loop]crawl.Order{}
	switch o := o.(type) {
	case crawl.Add, crawl.PauseAll:
		for _, l := range n.loops {
			parts[l] = o
		}
	case crawl.Reload:
		all := o.Settings.Refresh
		of := n.reloaded(all)
		if n.opt.Cluster != nil {
			o.Settings.MaxPages = 0
		}
		for _, l := range n.loops {
			o.Settings.Refresh = nil // the budget stays divided as it is
			if of != nil {
				o.Settings.Refresh = l.part(all, of)
			}
			parts[l] = o
		}
	case crawl.Ping:
		of := map[*loop][]weburl.URL{n.loops[0]: nil}
		for _, u := range o.URLs {
			l := n.owner(u.Site())
			of[l] = append(of[l], u)
		}
		for l, urls := range of {
			parts[l] = crawl.Ping{URLs: urls}
		}
	case crawl.Strike:
		of := map[*loop][]crawl.Struck{}
		for _, page := range o.Pages {
			l := n.ownerOf(page.Partition)
			of[l] = append(of[l], page)
		}
		for l, pages := range of {
			parts[l] = crawl.Strike{Pages: pages}
		}
	default:
		parts[n.owner(siteOf(o))] = o
	}
	return parts
}

// siteOf returns the site that an order concerns.
func siteOf(o crawl.Order) weburl.Site {
	switch o := o.(type) {
	case crawl.Pause:
		return o.Site
	case crawl.Pace:
		return o.Site
	case crawl.Block:
		return siteOfHost(o.Host)
	case crawl.Unblock:
		return siteOfHost(o.Host)
	case crawl.Recrawl:
		return o.URL.Site()
	case crawl.RecrawlSite:
		return o.Site
	case crawl.Purge:
		if o.Target.URL.IsZero() {
			return o.Target.Site
		}
		return o.Target.URL.Site()
	}
	panic(fmt.Sprintf("crawl: an order about no site: %T", o))
}

// siteOfHost returns a site of a host. For an invalid host any shard returns the error.
func siteOfHost(host string) weburl.Site {
	root, err := weburl.Parse("http://" + host + "/")
	if err != nil {
		return ""
	}
	return root.Site()
}
