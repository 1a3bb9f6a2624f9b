//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"freshet/internal/machines"
)

// A cost is the cost of a crawl of the whole web. A process alone has no servers.
type cost struct {
	nodes        int // 0: one process alone
	pages        int
	node, server time.Duration // processor time, in total
	took         time.Duration
	messages     int64 // that servers received and sent, also among one another
	bytes        int64
	log          int64 // bytes that one server keeps
}

// measure crawls a web with one process alone, and with one, two and three nodes, and prints the costs.
func measure(s settings) error {
	if err := machines.MakeBridge(); err != nil {
		return err
	}
	var all []cost
	for _, nodes := range []int{0, 1, 2, 3} {
		t := newTrial(s)
		t.set.dir = filepath.Join(s.dir, fmt.Sprint(nodes))
		c, err := t.measured(nodes)
		t.end(err)
		if err != nil {
			return err
		}
		all = append(all, c)
		fmt.Printf("%-18s %6d pages  nodes %6.2f ms a page  servers %5.2f ms  %5.0f pages/s of two cores  %4.1f messages and %6.0f bytes a page  %5.0f bytes in each log\n",
			c.name(), c.pages, c.ms(c.node), c.ms(c.server), 2000/c.ms(c.node+c.server), float64(c.messages)/float64(c.pages),
			float64(c.bytes)/float64(c.pages), float64(c.log)/float64(c.pages))
	}
	one, three := all[1].ms(all[1].node), all[3].ms(all[3].node)
	fmt.Printf("a follower takes %.2f ms a page; three nodes take %.2f times what one process takes alone\n", (three-one)/2, three/all[0].ms(all[0].node))
	return nil
}

func (c cost) name() string {
	if c.nodes == 0 {
		return "one process alone"
	}
	return fmt.Sprintf("%d nodes, %d servers", c.nodes, machines.Brokers)
}

// ms returns milliseconds a page.
func (c cost) ms(d time.Duration) float64 { return d.Seconds() * 1000 / float64(c.pages) }

// measured crawls the web once. It ends the nodes when all pages are fetched and all nodes have followed.
func (t *trial) measured(nodes int) (c cost, err error) {
	if err := os.MkdirAll(t.set.dir, 0o755); err != nil {
		return c, err
	}
	t.web = newWeb(t.rng, t.set.partitions, t.set.hosts, t.set.pages)
	t.web.words, t.web.latency = t.set.words, time.Millisecond
	t.web.freeze()
	if err := errors.Join(t.configure(), t.web.serve()); err != nil {
		return c, err
	}
	defer t.web.close()
	if err := t.quicken(nodes > 0); err != nil {
		return c, err
	}
	for i := range machines.Brokers {
		if nodes == 0 {
			break
		}
		m := t.broker(i)
		if err := errors.Join(t.mount(m.Name, brokerDisk), m.Start()); err != nil {
			return c, err
		}
		t.brokers = append(t.brokers, m)
	}
	for i := range max(1, nodes) {
		n, err := t.newNode(nodeAddress + 1 + i)
		if err != nil {
			return c, err
		}
		n.upgrade(t.programs[0])
		n.up()
		t.nodes = append(t.nodes, n)
	}
	if err := t.await("all pages are fetched", t.allFetched); err != nil {
		return c, err
	}
	all := t.web.exchanges()
	c = cost{nodes: nodes, pages: len(t.web.names) * t.web.perHost, took: all[len(all)-1].End.Sub(all[0].Start)}
	sleep(10 * time.Second) // until the other nodes have followed
	for _, m := range t.brokers {
		if err := t.ask(m, &c); err != nil {
			return c, err
		}
	}
	for _, n := range t.nodes {
		if err := n.down(syscall.SIGTERM); err != nil {
			return c, err
		}
		c.node += n.Processor()
	}
	for _, m := range t.brokers {
		m.Kill()
		c.server += m.Processor()
	}
	return c, nil
}

// quicken configures the crawl to run once, as fast as it can.
func (t *trial) quicken(shared bool) error {
	text, err := os.ReadFile(t.config())
	if err != nil {
		return err
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		key, _, _ := strings.Cut(line, ":")
		switch key {
		case "refresh", "policy", "budget", "interval", "warc-size", "segments-cache":
			continue
		case "nats", "cluster", "copies":
			if !shared {
				continue
			}
		case "delay":
			line = "delay: 0s\n"
		}
		lines = append(lines, line)
	}
	return os.WriteFile(t.config(), []byte(strings.Join(lines, "")), 0o600)
}

// ask adds a server's traffic to c.
func (t *trial) ask(m *machines.Machine, c *cost) error {
	answer, err := http.Get(fmt.Sprintf("http://%s:%d/varz", machines.Address(m.Number), machines.MonitorPort))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var told struct {
		InMsgs, OutMsgs, InBytes, OutBytes int64
		JetStream                          struct{ Stats struct{ Storage int64 } }
	}
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	raw = []byte(strings.NewReplacer(`"in_msgs"`, `"InMsgs"`, `"out_msgs"`, `"OutMsgs"`, `"in_bytes"`, `"InBytes"`, `"out_bytes"`, `"OutBytes"`).Replace(string(raw)))
	if err := json.Unmarshal(raw, &told); err != nil {
		return err
	}
	c.messages += told.InMsgs + told.OutMsgs
	c.bytes += told.InBytes + told.OutBytes
	c.log = max(c.log, told.JetStream.Stats.Storage)
	return nil
}
