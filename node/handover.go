package node

import (
	"fmt"

	"freshet/crawl"
	"freshet/weburl"
)

// handOver moves a partition to another shard of the node while both crawl. Orders wait until it is done.
func (n *Node) handOver(p weburl.Partition, to *loop) error {
	n.moving.Lock()
	defer n.moving.Unlock()
	from := n.ownerOf(p)
	if from == to {
		return nil
	}
	n.shares.move(1)
	defer n.stir()
	defer n.shares.move(-1)
	if _, err := n.await(from, from.order(crawl.Give{Partition: p})); err != nil {
		return fmt.Errorf("crawl: give partition %d: %w", p, err)
	}
	n.owners[p].Store(int32(to.number))
	if _, err := n.await(to, to.order(crawl.Take{Partition: p, Clean: true})); err != nil {
		return fmt.Errorf("crawl: take partition %d: %w", p, err)
	}
	n.tell(crawl.Resend{To: p})
	return nil
}
