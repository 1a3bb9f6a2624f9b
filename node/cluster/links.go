package cluster

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"

	"freshet/crawl"
	"freshet/weburl"
)

func (c *Cluster) subject(kind string, p weburl.Partition) string {
	return fmt.Sprintf("%s.%s.%d", c.options.Cluster, kind, p)
}

// listen subscribes to the messages to a partition.
func (c *Cluster) listen(p weburl.Partition) error {
	in := &inbound{to: p, partial: map[weburl.Partition]*message{}}
	links, err := c.wire.Subscribe(c.subject("links", p), func(m *nats.Msg) {
		parcel, whole, err := in.add(m.Data)
		if err != nil {
			c.options.Logger.Error("links from another node cannot be read", "error", err)
		} else if whole {
			c.node.Arrive(parcel)
		}
	})
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	c.heard[p] = append(c.heard[p], links)
	receipts, err := c.wire.Subscribe(c.subject("receipts", p), func(m *nats.Msg) {
		var r crawl.Receipt
		if err := json.Unmarshal(m.Data, &r); err != nil || r.From != p {
			c.options.Logger.Error("a receipt from another node cannot be read", "error", err)
			return
		}
		c.node.Receive(r)
	})
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	c.heard[p] = append(c.heard[p], receipts)
	orders, err := c.wire.Subscribe(c.subject("orders", p), c.obey)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	c.heard[p] = append(c.heard[p], orders)
	return nil
}

// unlisten ends the subscriptions.
func (c *Cluster) unlisten(p weburl.Partition) {
	for _, s := range c.heard[p] {
		_ = s.Unsubscribe() // it fails only if the connection has ended, and the subscription with it
	}
	delete(c.heard, p)
}

func (c *Cluster) takenSubject() string { return c.options.Cluster + ".taken" }

// tellTaken reports to all nodes that this one has a partition. Links that they sent to it before were lost, and
// without a receipt they send them again ever more rarely. The node also needs a part of the budget.
func (c *Cluster) tellTaken(p weburl.Partition) {
	if err := c.wire.Publish(c.takenSubject(), []byte(strconv.Itoa(int(p)))); err != nil {
		c.options.Logger.Warn("other nodes were not told that a partition is taken; they will read it from the servers", "error", err)
	}
}

// hearTaken has the budget divided again after a node, also this one, has taken a partition. If it was another node, it
// sends links again that wait for the partition.
func (c *Cluster) hearTaken(m *nats.Msg) {
	c.wantDivision()
	p, err := strconv.Atoi(string(m.Data))
	if err == nil && p >= 0 && p < c.options.Partitions && !c.has(weburl.Partition(p)) {
		c.node.Resend(weburl.Partition(p))
	}
}

// Send implements node.Cluster.
func (c *Cluster) Send(p crawl.Parcel) {
	messages, err := encodeParcel(p, c.parcels.Add(1))
	for i := 0; err == nil && i < len(messages); i++ {
		err = c.wire.Publish(c.subject("links", p.To), messages[i])
	}
	if err != nil {
		c.options.Logger.Warn("links are not sent to another node, and will be sent again", "error", err)
	}
}

// Acknowledge implements node.Cluster.
func (c *Cluster) Acknowledge(r crawl.Receipt) {
	raw, err := json.Marshal(r)
	if err == nil {
		err = c.wire.Publish(c.subject("receipts", r.From), raw)
	}
	if err != nil {
		c.options.Logger.Warn("a receipt could not be sent: the other node will ask again", "error", err)
	}
}
