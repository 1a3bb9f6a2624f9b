package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"freshet/crawl"
	"freshet/store"
	"freshet/weburl"
)

// An order about a partition is a request that only the partition's node receives. It answers with the result.

// orderMessage is an order as it is sent. Which fields it has depends on its kind.
type orderMessage struct {
	Kind   string     `json:"kind"`
	URLs   []string   `json:"urls,omitempty"`
	Site   string     `json:"site,omitempty"`
	Host   string     `json:"host,omitempty"`
	Until  *time.Time `json:"until,omitempty"`
	Paused bool       `json:"paused,omitempty"`

	Delay  *time.Duration `json:"delay_ns,omitempty"`
	Budget *int           `json:"budget,omitempty"`
}

// replyMessage is the result of an order.
type replyMessage struct {
	Count   int64             `json:"count,omitempty"`
	Refused map[string]string `json:"refused,omitempty"`
	Error   string            `json:"error,omitempty"`
	Class   string            `json:"class,omitempty"` // of the error, as in classes
	Robots  *robotsMessage    `json:"robots,omitempty"`
	Wait    time.Duration     `json:"wait_ns,omitempty"`
}

// robotsMessage is the answer to a request for a robots.txt. Its body has at most 512 KiB, so a server of NATS accepts
// the message by default.
type robotsMessage struct {
	Redirect string `json:"redirect,omitempty"`
	Reached  bool   `json:"reached,omitempty"`
	Barred   bool   `json:"barred,omitempty"`
	Nobody   bool   `json:"nobody,omitempty"`
	Body     []byte `json:"body,omitempty"`
	Record   []byte `json:"record"`
}

// classes are the errors that the sender of an order distinguishes.
var classes = map[string]error{"unknown": crawl.ErrUnknown, "order": crawl.ErrOrder, "elsewhere": crawl.ErrElsewhere}

// farError is an error of another node.
type farError struct {
	text  string
	class error // nil: of none
}

func (e *farError) Error() string { return e.text }
func (e *farError) Unwrap() error { return e.class }

// encodeOrder returns an order as it is sent.
func encodeOrder(o crawl.Order) (m orderMessage, err error) {
	switch o := o.(type) {
	case crawl.Add:
		m = orderMessage{Kind: "add", URLs: texts(o.Seeds)}
	case crawl.Ping:
		m = orderMessage{Kind: "ping", URLs: texts(o.URLs)}
	case crawl.Pause:
		m = orderMessage{Kind: "pause", Site: string(o.Site), Paused: o.Paused}
	case crawl.Pace:
		m = orderMessage{Kind: "pace", Site: string(o.Site), Delay: o.Delay, Budget: o.Budget}
	case crawl.Block:
		m = orderMessage{Kind: "block", Host: o.Host}
		if !o.Until.IsZero() {
			m.Until = &o.Until
		}
	case crawl.Unblock:
		m = orderMessage{Kind: "unblock", Host: o.Host}
	case crawl.Recrawl:
		m = orderMessage{Kind: "recrawl", URLs: []string{o.URL.String()}}
	case crawl.RecrawlSite:
		m = orderMessage{Kind: "recrawl-site", Site: string(o.Site)}
	case crawl.Purge:
		m = orderMessage{Kind: "purge", Site: string(o.Target.Site)}
		if !o.Target.URL.IsZero() {
			m = orderMessage{Kind: "purge", URLs: []string{o.Target.URL.String()}}
		}
	case crawl.AskRobots:
		m = orderMessage{Kind: "ask-robots", URLs: []string{o.URL.String()}}
	default:
		return m, fmt.Errorf("cluster: a %T is for no other node", o)
	}
	return m, nil
}

func texts(urls []weburl.URL) (all []string) {
	for _, u := range urls {
		all = append(all, u.String())
	}
	return all
}

// decodeOrder returns the order that a message has.
func decodeOrder(raw []byte) (crawl.Order, error) {
	var m orderMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("cluster: order: %w", err)
	}
	urls := make([]weburl.URL, len(m.URLs))
	for i, text := range m.URLs {
		var err error
		if urls[i], err = weburl.Parse(text); err != nil {
			return nil, fmt.Errorf("cluster: order: %w", err)
		}
	}
	one := len(urls) == 1
	switch {
	case m.Kind == "add":
		return crawl.Add{Seeds: urls}, nil
	case m.Kind == "ping":
		return crawl.Ping{URLs: urls}, nil
	case m.Kind == "pause" && m.Site != "":
		return crawl.Pause{Site: weburl.Site(m.Site), Paused: m.Paused}, nil
	case m.Kind == "pace" && m.Site != "":
		return crawl.Pace{Site: weburl.Site(m.Site), Delay: m.Delay, Budget: m.Budget}, nil
	case m.Kind == "block" && m.Host != "":
		o := crawl.Block{Host: m.Host}
		if m.Until != nil {
			o.Until = *m.Until
		}
		return o, nil
	case m.Kind == "unblock" && m.Host != "":
		return crawl.Unblock{Host: m.Host}, nil
	case m.Kind == "ask-robots" && one:
		return crawl.AskRobots{URL: urls[0]}, nil
	case m.Kind == "recrawl" && one:
		return crawl.Recrawl{URL: urls[0]}, nil
	case m.Kind == "recrawl-site" && m.Site != "":
		return crawl.RecrawlSite{Site: weburl.Site(m.Site)}, nil
	case m.Kind == "purge" && one:
		return crawl.Purge{Target: store.Target{URL: urls[0]}}, nil
	case m.Kind == "purge" && m.Site != "":
		return crawl.Purge{Target: store.Target{Site: weburl.Site(m.Site)}}, nil
	}
	return nil, fmt.Errorf("cluster: order of kind %.20q: the other node is of another version, or the order says too little", m.Kind)
}

// encodeReply returns a node's reply as it is sent.
func encodeReply(r crawl.Reply, err error) ([]byte, error) {
	m := replyMessage{Count: r.Count, Refused: r.Refused, Wait: r.Wait}
	if a := r.Robots; a != nil {
		m.Robots = &robotsMessage{
			Redirect: a.Redirect.String(), Reached: a.Reached, Barred: a.Barred, Nobody: a.Nobody, Body: a.Body,
			Record: store.AppendRecord(nil, a.Record),
		}
	}
	if err != nil {
		m.Error = err.Error()
		for name, class := range classes {
			if errors.Is(err, class) {
				m.Class = name
			}
		}
	}
	return json.Marshal(m)
}

// decodeReply returns the reply of another node.
func decodeReply(raw []byte) (crawl.Reply, error) {
	var m replyMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return crawl.Reply{}, fmt.Errorf("cluster: reply to an order: %w", err)
	}
	r := crawl.Reply{Count: m.Count, Refused: m.Refused, Wait: m.Wait}
	if m.Robots != nil {
		var err error
		if r.Robots, err = m.Robots.decode(); err != nil {
			return crawl.Reply{}, err
		}
	}
	if m.Error != "" {
		return r, &farError{m.Error, classes[m.Class]}
	}
	return r, nil
}

func (m *robotsMessage) decode() (*crawl.RobotsAnswer, error) {
	a := &crawl.RobotsAnswer{Nobody: m.Nobody}
	a.Reached, a.Barred, a.Body = m.Reached, m.Barred, m.Body
	var err error
	if m.Redirect != "" {
		if a.Redirect, err = weburl.Parse(m.Redirect); err != nil {
			return nil, fmt.Errorf("cluster: reply to an order: %w", err)
		}
	}
	record, err := store.DecodeRecord(m.Record)
	if err != nil {
		return nil, fmt.Errorf("cluster: reply to an order: %w", err)
	}
	var is bool
	if a.Record, is = record.(*store.Robots); !is {
		return nil, fmt.Errorf("cluster: reply to an order: a %T for a robots.txt", record)
	}
	return a, nil
}

// Ask implements node.Cluster. If no node receives the request, it returns at once. A node that received it and
// does not answer may have carried the order out.
func (c *Cluster) Ask(ctx context.Context, p weburl.Partition, o crawl.Order) (crawl.Reply, error) {
	m, err := encodeOrder(o)
	if err != nil {
		return crawl.Reply{}, err
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return crawl.Reply{}, fmt.Errorf("cluster: order: %w", err)
	}
	answer, err := c.wire.RequestWithContext(ctx, c.subject("orders", p), raw)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return crawl.Reply{}, crawl.ErrElsewhere
	case err != nil:
		return crawl.Reply{}, fmt.Errorf("cluster: the node that has partition %d has not answered, and may have carried out the order: "+
			"look at freshet cluster status, and give the order again: %w", p, err)
	}
	return decodeReply(answer.Data)
}

// mostOrders is how many orders of other nodes are carried out at once. Others wait.
const mostOrders = 16

// obey carries out an order about a partition that another node has been given, and answers. It does nothing once the
// node's part in the cluster has ended.
func (c *Cluster) obey(m *nats.Msg) {
	select {
	case c.obeying <- struct{}{}:
	case <-c.life.Done():
		return
	}
	go func() {
		defer func() { <-c.obeying }()
		var r crawl.Reply
		o, err := decodeOrder(m.Data)
		if err == nil {
			r, err = c.node.Obey(o)
		}
		raw, err := encodeReply(r, err)
		if err == nil {
			err = c.wire.Publish(m.Reply, raw)
		}
		if err != nil {
			c.options.Logger.Warn("an order of another node is not answered", "error", err)
		}
	}()
}
