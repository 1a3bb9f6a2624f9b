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

// A cost is the cost of a crawl of the whole web. Only nodes that share the crawl have servers.
type cost struct {
	nodes        int
	shared       bool // the nodes share the crawl; else each crawls a part of the hosts on its own
	pages        int
	node, server time.Duration // processor time, in total
	crawling     time.Duration // of node: from the first request until the last page was followed
	messages     int64         // that servers received and sent, also among one another
	bytes        int64
	log          int64 // bytes that one server keeps
}

// measure crawls a web with one process alone, with three that share nothing, and with one, two and three nodes, and
// prints the costs.
func measure(s settings) error {
	if err := machines.MakeBridge(); err != nil {
		return err
	}
	all := []cost{{nodes: 1}, {nodes: 3}, {nodes: 1, shared: true}, {nodes: 2, shared: true}, {nodes: 3, shared: true}}
	for i := range all {
		t, c := newTrial(s), &all[i]
		t.set.dir = filepath.Join(s.dir, fmt.Sprint(i))
		err := t.measured(c)
		t.end(err)
		if err != nil {
			return err
		}
		fmt.Printf("%-30s %6d pages  processes %5.2f ms a page, %5.2f while they crawl  servers %5.2f ms  %5.0f pages/s of two cores  %4.1f messages and %6.0f bytes a page  %5.0f bytes in each log\n",
			c.name(), c.pages, c.ms(c.node), c.ms(c.crawling), c.ms(c.server), 2000/c.ms(c.node+c.server), float64(c.messages)/float64(c.pages),
			float64(c.bytes)/float64(c.pages), float64(c.log)/float64(c.pages))
	}
	fmt.Printf("a follower takes %.2f ms a page\n", (all[4].ms(all[4].node)-all[2].ms(all[2].node))/2)
	for _, c := range all[:2] {
		fmt.Printf("%s, beside %s: %.2f times; while they crawl %.2f times\n",
			all[4].name(), c.name(), float64(all[4].node)/float64(c.node), float64(all[4].crawling)/float64(c.crawling))
	}
	return nil
}

func (c cost) name() string {
	switch {
	case c.shared:
		return fmt.Sprintf("nodes of a cluster: %d", c.nodes)
	case c.nodes == 1:
		return "one process alone"
	}
	return fmt.Sprintf("%d processes that share nothing", c.nodes)
}

// ms returns milliseconds a page.
func (c cost) ms(d time.Duration) float64 { return d.Seconds() * 1000 / float64(c.pages) }

// measured crawls the web once. It ends the nodes when all pages are fetched and all nodes have followed.
func (t *trial) measured(c *cost) error {
	if err := os.MkdirAll(t.set.dir, 0o755); err != nil {
		return err
	}
	t.web = newWeb(t.rng, t.set.partitions, t.set.hosts, t.set.pages)
	t.web.words, t.web.latency = t.set.words, time.Millisecond
	t.web.freeze()
	c.pages = len(t.web.names) * t.web.perHost
	if err := errors.Join(t.configure(), t.web.serve()); err != nil {
		return err
	}
	defer t.web.close()
	if err := t.quicken(c.shared); err != nil {
		return err
	}
	for i := range machines.Brokers {
		if !c.shared {
			break
		}
		m := t.broker(i)
		if err := errors.Join(t.mount(m.Name, brokerDisk), m.Start()); err != nil {
			return err
		}
		t.brokers = append(t.brokers, m)
	}
	for i := range c.nodes {
		n, err := t.newNode(nodeAddress + 1 + i)
		if err == nil && !c.shared {
			err = t.part(n, i, c.nodes)
		}
		if err != nil {
			return err
		}
		n.upgrade(t.programs[0])
		n.up()
		t.nodes = append(t.nodes, n)
	}
	if err := t.await("the crawl begins", func() string {
		if len(t.web.exchanges()) > 0 {
			return ""
		}
		return "no request"
	}); err != nil {
		return err
	}
	before, err := t.spent()
	if err == nil {
		err = t.await("all pages are fetched", t.allFetched)
	}
	if err != nil {
		return err
	}
	sleep(2 * time.Second) // until the other nodes have followed
	after, err := t.spent()
	if err != nil {
		return err
	}
	c.crawling = after - before
	for _, m := range t.brokers {
		if err := t.ask(m, c); err != nil {
			return err
		}
	}
	for _, n := range t.nodes {
		if err := n.down(syscall.SIGTERM); err != nil {
			return err
		}
		c.node += n.Processor()
	}
	for _, m := range t.brokers {
		m.Kill()
		c.server += m.Processor()
	}
	return nil
}

// part gives a process that shares nothing its part of the hosts.
func (t *trial) part(n *node, i, of int) error {
	var seeds []byte
	for k, host := range t.web.names {
		if k%of == i {
			seeds = fmt.Appendf(seeds, "http://%s/\n", host)
		}
	}
	file := filepath.Join(t.set.dir, n.Name+".seeds")
	n.args = append(n.args, "--seeds", file, "--scope", "site")
	return os.WriteFile(file, seeds, 0o600)
}

// spent returns the processor time of all nodes so far.
func (t *trial) spent() (all time.Duration, err error) {
	for _, n := range t.nodes {
		one, err := n.Spent()
		if err != nil {
			return 0, err
		}
		all += one
	}
	return all, nil
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
