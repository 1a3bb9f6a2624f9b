//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"freshet/internal/machines"
	"freshet/log"
)

// copied is one server's copy of a partition's log.
type copied struct {
	chains map[uint64]string // by number
	broken error             // the error of a reader
	strays []string          // entries of a deposed node
}

// judge compares all copies of all logs with one another and with the acknowledged entries.
func (t *trial) judge() error {
	var copies [machines.Brokers][]copied
	for i := range machines.Brokers {
		var err error
		if copies[i], err = t.copiesOf(t.servers[i].Name); err != nil {
			return err
		}
	}
	var lost, differ, broken, strays []string
	entries := 0
	for p := range t.set.Partitions {
		for i := range machines.Brokers {
			c := copies[i][p]
			where := fmt.Sprintf("partition %d at %s", p, t.servers[i].Name)
			for seq, chain := range t.acked[p] {
				if c.chains[seq] != string(chain) {
					lost = append(lost, fmt.Sprintf("%s: entry %d", where, seq))
				}
			}
			if !maps.Equal(c.chains, copies[0][p].chains) {
				differ = append(differ, fmt.Sprintf("%s has %d entries, at %s %d", where, len(c.chains), t.servers[0].Name, len(copies[0][p].chains)))
			}
			if c.broken != nil {
				broken = append(broken, fmt.Sprintf("%s: %v", where, c.broken))
			}
			strays = append(strays, c.strays...)
		}
		entries += len(copies[0][p].chains)
	}
	t.report(entries)
	for _, found := range []struct {
		what string
		list []string
	}{
		{"acknowledged and lost", lost}, {"copies that differ", differ}, {"broken chains", broken},
		{"written by a node that was deposed", strays}, {"acknowledged twice", t.splits},
	} {
		fmt.Printf("%s: %d\n", found.what, len(found.list))
		for _, line := range found.list[:min(5, len(found.list))] {
			fmt.Println("  " + line)
		}
	}
	if len(lost)+len(differ)+len(broken)+len(strays)+len(t.splits) > 0 {
		return errors.New("the log does not hold")
	}
	if t.said["deposed"] == 0 {
		return errors.New("no node was ever deposed: the trial has shown nothing of that")
	}
	return nil
}

func (t *trial) report(entries int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.Sort(t.delays)
	at := func(share float64) float64 {
		if len(t.delays) == 0 {
			return 0
		}
		return t.delays[int(share*float64(len(t.delays)-1))]
	}
	took := real.Now().Sub(t.began).Seconds()
	fmt.Printf("%d entries acknowledged of %d stored, %.1f MB; %.0f a second; half within %.1f ms, 99 %% within %.0f ms, all within %.0f ms\n",
		t.said["wrote"]+t.said["took"], entries, float64(t.bytes)/1e6, float64(t.said["wrote"])/took, at(.5), at(.99), at(1))
	fmt.Printf("partitions taken %d times; appends of deposed nodes refused %d, given up %d\n", t.said["took"], t.said["deposed"], t.said["failed"])
	fmt.Printf("servers whose damaged files had to be removed: %d\n", t.removed)
	for _, why := range slices.Sorted(maps.Keys(t.failures)) {
		fmt.Printf("  given up by %s: %d\n", why, t.failures[why])
	}
}

// readers is how many streams are read at once.
const readers = 8

// copiesOf returns a server's copies. It first makes the server the leader of all streams, because a leader answers
// from its own copy.
func (t *trial) copiesOf(name string) ([]copied, error) {
	copies := make([]copied, t.set.Partitions)
	errs := make([]error, t.set.Streams)
	turns := make(chan struct{}, readers)
	var all sync.WaitGroup
	for i := range t.set.Streams {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			stream := fmt.Sprintf("gate-log-%d", i)
			if errs[i] = t.lead(stream, name); errs[i] != nil {
				return
			}
			for p := i; p < t.set.Partitions; p += t.set.Streams {
				copies[p] = t.copyOf(stream, p)
			}
		})
	}
	all.Wait()
	return copies, errors.Join(errs...)
}

// lead makes a server the leader of a stream.
func (t *trial) lead(stream, name string) error {
	var last error
	for from := real.Now(); real.Now().Sub(from) < longest; sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		s, err := t.js.Stream(ctx, stream)
		cancel()
		if last = err; err != nil {
			continue
		}
		if c := s.CachedInfo().Cluster; c != nil && c.Leader == name {
			return nil
		}
		_, last = t.conn.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, []byte(`{"placement":{"preferred":"`+name+`"}}`), 5*time.Second)
	}
	return fmt.Errorf("%s does not become the leader of %s: %w", name, stream, last)
}

// copyOf reads a partition's log from its leader.
func (t *trial) copyOf(stream string, p int) copied {
	c := copied{chains: map[uint64]string{}}
	var after log.Place
	owner := ""
	for {
		data, seq, err := t.message(stream, p, after.Seq+1)
		if err != nil {
			c.broken = err
		}
		if err != nil || seq == 0 {
			return c
		}
		r, err := log.Open(after, seq, data)
		if err != nil {
			c.broken = err
			return c
		}
		if r.Taken {
			owner = r.Owner
		}
		if r.Owner != owner {
			c.strays = append(c.strays, fmt.Sprintf("partition %d: entry %d of %s, but %s is the owner", p, seq, r.Owner, owner))
		}
		c.chains[seq] = string(r.At.Chain[:])
		after = r.At
	}
}

// message returns the first message of a partition at or after a number. The returned number is 0 if there is none.
func (t *trial) message(stream string, p int, from uint64) ([]byte, uint64, error) {
	ask := fmt.Sprintf(`{"seq":%d,"next_by_subj":"gate.log.%d"}`, from, p)
	var last error
	for range 10 {
		m, err := t.conn.Request("$JS.API.STREAM.MSG.GET."+stream, []byte(ask), 5*time.Second)
		if last = err; err != nil {
			continue
		}
		var answer struct {
			Error *struct {
				Code        int
				Description string
			}
			Message struct {
				Seq  uint64
				Data []byte
			}
		}
		if err := json.Unmarshal(m.Data, &answer); err != nil {
			return nil, 0, err
		}
		switch e := answer.Error; {
		case e == nil:
			return answer.Message.Data, answer.Message.Seq, nil
		case e.Code == 404:
			return nil, 0, nil
		default:
			last = errors.New(strings.ToLower(e.Description))
		}
	}
	return nil, 0, last
}
