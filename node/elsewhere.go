package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"freshet/crawl"
	"freshet/crawl/share"
	"freshet/log"
	"freshet/store"
	"freshet/store/transfer"
	"freshet/weburl"
)

// A node of a cluster crawls some of the partitions, and takes and gives partitions while it runs. Package cluster
// decides which, and when. The node also has the rows of other partitions, as far as it has followed their logs.

// Cluster connects a node to the other nodes of its crawl. Its methods are safe for concurrent use.
type Cluster interface {
	store.Log
	// Name returns the unique name of the node. It is valid as a file name.
	Name() string
	// Leased returns an error if other nodes may have taken the node's partitions. The node calls it right before
	// each request to a server.
	Leased() error
	// Late returns how many partitions of the node wait because their log takes no entries, and why, with what to do.
	// The reason is nil if the node's other work goes on.
	Late() (partitions int, why error)
	// Send sends links to the owner of their partition. Acknowledge sends a receipt for links. Both may be lost; the
	// node then sends them again.
	Send(crawl.Parcel)
	Acknowledge(crawl.Receipt)
	// Ask makes the node that has a partition carry out an order about the partition's pages, sites or hosts. It
	// returns crawl.ErrElsewhere, and nothing is done, if no node has the partition now.
	Ask(context.Context, weburl.Partition, crawl.Order) (crawl.Reply, error)
	// PauseAll pauses or resumes all nodes.
	PauseAll(ctx context.Context, paused bool) error
}

// nobody is the owner of a partition that no shard of this node has.
const nobody = -1

// checkCluster returns the options that a node of a cluster does not support.
func (o *Options) checkCluster() error {
	var faults []error
	switch {
	case o.Cluster == nil:
		return nil
	case !o.Wait:
		faults = append(faults, errors.New("crawl: a node of a cluster waits for more work: no node knows when all are done"))
	case o.Keep.Versions > 0 || o.Keep.Age > 0 || o.Keep.Bytes > 0:
		faults = append(faults, errors.New("crawl: a cluster keeps all of the past: leave keep out"))
	}
	return errors.Join(faults...)
}

// clusterLog returns the log to which the store appends its records, or nil.
func (n *Node) clusterLog() store.Log {
	if n.opt.Cluster == nil {
		return nil
	}
	return n.opt.Cluster
}

// Place returns how far a partition's log has been applied here.
func (n *Node) Place(p weburl.Partition) (log.Place, error) {
	counters, err := n.store.Counters(p)
	return counters.Place, err
}

// Pages returns the number of pages that each shard of the node knows.
func (n *Node) Pages() []int64 { return n.knownPages() }

// Vitals returns the state of the node's work for the other nodes.
func (n *Node) Vitals() share.Vitals {
	var counts crawl.Counts
	var held crawl.Held
	n.each(func(s *crawl.Shard, _ time.Time) {
		counts = counts.And(s.Counts())
		held = held.And(s.Held())
	})
	pages, _ := n.tally.rates(counts, n.opt.Clock.Now())
	return share.Vitals{
		Pages: counts.Pages, PagesS: pages, Failed: counts.Failed, Queued: int64(held.Queued), DiskFree: n.store.DiskFree(),
		Fetches: n.fleet.status().Allowed, Paused: held.Paused, SitesPaused: held.SitesPaused,
	}
}

// Has reports whether the node has a partition.
func (n *Node) Has(p weburl.Partition) bool { return n.has(p) }

// Follow applies what other nodes appended to the log of a partition that the node does not crawl.
func (n *Node) Follow(p weburl.Partition, groups ...store.Group) error {
	seeds, err := n.store.Follow(p, groups...)
	if err != nil {
		return fmt.Errorf("crawl: follow partition %d: %w", p, err)
	}
	if len(seeds) > 0 {
		n.tell(crawl.Widen{Seeds: seeds})
	}
	signal(n.keeper.purge)
	return nil
}

// Snapshot writes a partition with its captures as it is now, and returns the corresponding place in its log.
func (n *Node) Snapshot(p weburl.Partition, cluster string, w io.Writer) (log.Place, error) {
	return transfer.SnapshotPartition(n.store, p, cluster, w)
}

// CheckSnapshot reads the output of Snapshot and checks it. It stores nothing.
func (n *Node) CheckSnapshot(r io.Reader) (p weburl.Partition, cluster string, at log.Place, err error) {
	return transfer.CheckPartition(r, n.store.Partitions())
}

// Load replaces a partition that the node does not crawl by the output of Snapshot. After an error the node has the
// old content, or none.
func (n *Node) Load(p weburl.Partition, r io.Reader) error {
	if _, err := transfer.ReplacePartition(n.store, r); err != nil {
		return fmt.Errorf("crawl: load partition %d: %w", p, err)
	}
	var seeds []weburl.URL
	for page, err := range n.store.Pages(p) {
		if err != nil {
			return fmt.Errorf("crawl: load partition %d: %w", p, err)
		}
		if page.Seed {
			seeds = append(seeds, page.URL)
		}
	}
	if len(seeds) > 0 {
		n.tell(crawl.Widen{Seeds: seeds})
	}
	signal(n.keeper.purge)
	return nil
}

// Forget removes a partition that the node does not crawl from its directory.
func (n *Node) Forget(p weburl.Partition) error {
	if err := transfer.ForgetPartition(n.store, p); err != nil {
		return fmt.Errorf("crawl: forget partition %d: %w", p, err)
	}
	return nil
}

// Seeded returns the sites of a partition with seeds that are not in the settings, sorted.
func (n *Node) Seeded(p weburl.Partition) (sites []weburl.Site, err error) {
	known := map[weburl.Site]bool{}
	for _, u := range n.opt.Seeds {
		known[u.Site()] = true
	}
	for row, err := range n.store.Sites(p) {
		if err != nil {
			return nil, fmt.Errorf("crawl: seeds of partition %d: %w", p, err)
		}
		if row.Seed && !known[row.Site] {
			sites = append(sites, row.Site)
		}
	}
	return sites, nil
}

// Widen adds sites to the scope. They may be of partitions that the node does not follow.
func (n *Node) Widen(sites []weburl.Site) { n.tell(crawl.Widen{Sites: sites}) }

// Take starts crawling a partition. Its log must be applied to the end, and its last owner must have stopped. Each host
// of the partition first waits its own interval. If ctx ends, Take stops waiting; the node must then be closed.
func (n *Node) Take(ctx context.Context, p weburl.Partition) error {
	n.moving.Lock()
	defer n.moving.Unlock()
	if n.has(p) {
		return nil
	}
	l := n.loops[int(p)%len(n.loops)]
	n.owners[p].Store(int32(l.number))
	if err := n.moved(ctx, l, crawl.Take{Partition: p}); err != nil {
		n.owners[p].Store(nobody)
		return fmt.Errorf("crawl: take partition %d: %w", p, err)
	}
	n.Resend(p)
	return nil
}

// Resend sends links to a partition with a new owner again, if they have no receipt.
func (n *Node) Resend(p weburl.Partition) { n.tell(crawl.Resend{To: p}) }

// moved waits until a shard has taken or given a partition.
func (n *Node) moved(ctx context.Context, l *loop, o crawl.Order) error {
	done := make(chan error, 1)
	go func() {
		_, err := n.await(l, l.order(o))
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Give stops crawling a partition. When it returns, no request for the partition is under way, and all its records are
// in its log. If ctx ends, Give stops waiting, like Take.
func (n *Node) Give(ctx context.Context, p weburl.Partition) error {
	n.moving.Lock()
	defer n.moving.Unlock()
	if !n.has(p) {
		return nil
	}
	l := n.ownerOf(p)
	if err := n.moved(ctx, l, crawl.Give{Partition: p}); err != nil {
		return fmt.Errorf("crawl: give partition %d: %w", p, err)
	}
	n.owners[p].Store(nobody)
	return nil
}

// hasPage reports whether a shard of the node owns the partition of a URL.
func (n *Node) hasPage(raw string) bool {
	u, err := weburl.Parse(raw)
	return err == nil && n.has(n.store.Home(u.Site()))
}

// Fail ends the crawl at once, like a disk fault, because the node may have lost its partitions.
func (n *Node) Fail(err error) { n.fail(err) }

// Arrive accepts links from another node. It ignores links to partitions that the node does not have.
func (n *Node) Arrive(parcel crawl.Parcel) {
	if n.has(parcel.To) {
		n.ownerOf(parcel.To).mail.put(letter{event: crawl.Arriving{Parcel: parcel}})
	}
}

// Receive handles a receipt for links that the node sent.
func (n *Node) Receive(receipt crawl.Receipt) {
	if n.has(receipt.From) {
		n.ownerOf(receipt.From).mail.put(letter{event: crawl.Received{Receipt: receipt}})
	}
}

// send sends links to the shard or node that owns their partition.
func (n *Node) send(parcel crawl.Parcel) {
	if n.opt.Cluster != nil && !n.has(parcel.To) {
		n.opt.Cluster.Send(parcel)
		return
	}
	n.ownerOf(parcel.To).mail.put(letter{event: crawl.Arriving{Parcel: parcel}})
}

// acknowledge sends a receipt to the shard that sent links.
func (n *Node) acknowledge(receipt crawl.Receipt) {
	if n.opt.Cluster != nil && !n.has(receipt.From) {
		n.opt.Cluster.Acknowledge(receipt)
		return
	}
	n.ownerOf(receipt.From).mail.put(letter{event: crawl.Received{Receipt: receipt}})
}

// sendAgain sends links again that other nodes may not have received.
func (n *Node) sendAgain() {
	if n.opt.Cluster == nil {
		return
	}
	unsent := 0
	n.each(func(s *crawl.Shard, _ time.Time) { unsent += s.Unsent() })
	if unsent == 0 {
		return
	}
	for p := range n.owners {
		if !n.has(weburl.Partition(p)) {
			n.tell(crawl.Resend{To: weburl.Partition(p), Lost: true})
		}
	}
}
