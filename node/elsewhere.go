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

// A node of a cluster has some of the partitions, and gets and gives others while it runs. Who gets which, and when, is
// decided elsewhere (package cluster). The rows of all others lie here too, as far as their log was followed.

// Cluster connects a node to those that it shares its crawl with. Its methods may be called at the same time.
type Cluster interface {
	store.Log
	// Name tells the node from all others. It is fit for a file's name.
	Name() string
	// Leased returns an error if other nodes may have taken the node's partitions. It is asked right before each
	// request to a server is sent.
	Leased() error
	// Send sends links to the owner of their partition, and Acknowledge the word that links are taken in. Both may be
	// lost: they are sent again.
	Send(crawl.Parcel)
	Acknowledge(crawl.Receipt)
	// Ask has the node that has a partition carry out an order about pages, a site or a host of it. It returns
	// crawl.ErrElsewhere where no node has it now: nothing was done then.
	Ask(context.Context, weburl.Partition, crawl.Order) (crawl.Reply, error)
	// PauseAll lets no node ask for anything more, or lets all go on.
	PauseAll(ctx context.Context, paused bool) error
}

// nobody owns a partition that another node has.
const nobody = -1

// checkCluster returns what a node of a cluster does not do.
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

// clusterLog returns what the store appends its records to; nil: nothing.
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

// Pages returns how many pages each shard of the node knows.
func (n *Node) Pages() []int64 { return n.knownPages() }

// Vitals returns what the node tells the others of its work.
func (n *Node) Vitals() share.Vitals {
	var counts crawl.Counts
	queued := 0
	n.each(func(s *crawl.Shard, _ time.Time) {
		counts = counts.And(s.Counts())
		queued += s.Held().Queued
	})
	pages, _ := n.tally.rates(counts, n.opt.Clock.Now())
	return share.Vitals{
		Pages: counts.Pages, PagesS: pages, Failed: counts.Failed, Queued: int64(queued), DiskFree: n.store.DiskFree(),
		Fetches: n.fleet.status().Allowed,
	}
}

// Has reports whether the node has a partition.
func (n *Node) Has(p weburl.Partition) bool { return n.has(p) }

// Follow applies what others have appended to the log of a partition that the node does not have.
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

// Snapshot writes a partition with its captures as it is now, and returns the place of its log that this stands for.
func (n *Node) Snapshot(p weburl.Partition, cluster string, w io.Writer) (log.Place, error) {
	return transfer.SnapshotPartition(n.store, p, cluster, w)
}

// CheckSnapshot reads what Snapshot has written, and stores nothing.
func (n *Node) CheckSnapshot(r io.Reader) (p weburl.Partition, cluster string, at log.Place, err error) {
	return transfer.CheckPartition(r, n.store.Partitions())
}

// Load takes in what Snapshot has written, in place of all that is here of a partition that the node does not have.
// After an error that is there, or nothing.
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

// Forget removes all that is here of a partition that the node does not have.
func (n *Node) Forget(p weburl.Partition) error {
	if err := transfer.ForgetPartition(n.store, p); err != nil {
		return fmt.Errorf("crawl: forget partition %d: %w", p, err)
	}
	n.forgotten.Store(true)
	return nil
}

// Seeded returns the sites of a partition that have a seed which the settings do not have, sorted.
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

// Widen takes sites of partitions that the node may not follow into the scope.
func (n *Node) Widen(sites []weburl.Site) { n.tell(crawl.Widen{Sites: sites}) }

// Take begins to crawl a partition, whose rows here are as its log has them. Its last owner neither asks for its pages
// nor appends to its log any more. Each of its hosts waits out its own interval. When ctx ends it waits no longer: the
// node is to be closed then.
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

// Resend has links sent again that wait for a partition which another owner has now.
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

// Give stops to crawl a partition. When it returns nothing of it is asked for, and all of it is in its log. When ctx
// ends it waits no longer, as Take.
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

// Fail ends the crawl at once, as a fault of the disk does: the node may have lost its partitions.
func (n *Node) Fail(err error) { n.fail(err) }

// Arrive takes in links that another node sends. Those for a partition that the node does not have are passed over.
func (n *Node) Arrive(parcel crawl.Parcel) {
	if n.has(parcel.To) {
		n.ownerOf(parcel.To).mail.put(letter{event: crawl.Arriving{Parcel: parcel}})
	}
}

// Receive takes the word that links which the node has sent are taken in.
func (n *Node) Receive(receipt crawl.Receipt) {
	if n.has(receipt.From) {
		n.ownerOf(receipt.From).mail.put(letter{event: crawl.Received{Receipt: receipt}})
	}
}

// send sends links on their way to the shard that owns their partition.
func (n *Node) send(parcel crawl.Parcel) {
	if n.opt.Cluster != nil && !n.has(parcel.To) {
		n.opt.Cluster.Send(parcel)
		return
	}
	n.ownerOf(parcel.To).mail.put(letter{event: crawl.Arriving{Parcel: parcel}})
}

// acknowledge tells the shard that has sent links that they are taken in.
func (n *Node) acknowledge(receipt crawl.Receipt) {
	if n.opt.Cluster != nil && !n.has(receipt.From) {
		n.opt.Cluster.Acknowledge(receipt)
		return
	}
	n.ownerOf(receipt.From).mail.put(letter{event: crawl.Received{Receipt: receipt}})
}

// sendAgain sends links again that other nodes may not have got.
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
