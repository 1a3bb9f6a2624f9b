//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/internal/machines"
	"freshet/node/cluster"
	"freshet/weburl"
)

const (
	firstNodes = 3
	lease      = 10 * time.Second // the program's
	nodeDisk   = 384              // megabytes
	brokerDisk = 512
	longest    = 3 * time.Minute // that any step may take before the trial fails
	name       = "chaos"         // of the cluster
)

// trial holds the servers, the nodes, the web, and what the trial observed.
type trial struct {
	set      settings
	rng      *rand.Rand
	programs [2]string
	web      *web
	brokers  []*machines.Machine
	store    *machines.Machine // nil: none
	nodes    []*node
	mirrors  []*mirror
	conn     *nats.Conn
	js       jetstream.JetStream
	began    time.Time
	usual    time.Duration // longest time without a request to a host while all is well
	result   result
	notes    map[string]int // repairs by hand, and other remarks, with their counts
	gone     takeDowns

	mu       sync.Mutex
	holdings []holding
	states   map[string]cluster.State
	heard    jetstream.KeyValueEntry // the last entry
	missed   []span                  // in which the trial has missed entries
}

// span is the time between two moments.
type span struct{ from, to time.Time }

// holding is an entry: the node that has a partition.
type holding struct {
	partition weburl.Partition
	node, run string
	at        time.Time // by the clock of the servers, which is the trial's
	revision  uint64
}

func newTrial(s settings) *trial {
	return &trial{
		set: s, rng: rand.New(rand.NewPCG(s.seed, 1)), began: real.Now(), result: result{Seed: s.seed}, notes: map[string]int{}, gone: takeDowns{},
		states: map[string]cluster.State{}, programs: programs(s.programs),
	}
}

func try(s settings) (err error) {
	t := newTrial(s)
	defer func() {
		t.end(err)
		err = errors.Join(err, t.result.append(s.results, err))
	}()
	if err := t.begin(firstNodes); err != nil {
		return err
	}
	kinds := t.kinds()
	enough := make(chan os.Signal, 1)
	signal.Notify(enough, syscall.SIGTERM)
	for i := range s.events {
		if len(enough) > 0 {
			t.print("the trial ends after %d faults: it was asked to", i)
			break
		}
		if i%len(kinds) == 0 {
			t.rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		}
		if err := t.event(i+1, kinds[i%len(kinds)]); err != nil {
			return err
		}
	}
	return t.judge()
}

// event causes a fault and waits until all is well.
func (t *trial) event(number int, f fault) error {
	begin := real.Now()
	victim, err := f.do(t)
	if err != nil {
		return fmt.Errorf("%s %s: %w", f.kind, victim, err)
	}
	healed := real.Now()
	well, err := t.recovered(healed)
	if err != nil {
		return fmt.Errorf("after %s %s: %w", f.kind, victim, err)
	}
	r := event{f.kind, victim, t.longestPause(begin, well).Seconds(), well.Sub(healed).Seconds()}
	t.result.Events = append(t.result.Events, r)
	t.print("%3d %-13s %-8s a host was not asked for %5.1f s at most; all is well %5.1f s after its end", number, f.kind, victim,
		r.Pause, r.Well)
	return nil
}

func (t *trial) print(format string, args ...any) {
	fmt.Printf("%7.1f s  %s\n", real.Now().Sub(t.began).Seconds(), fmt.Sprintf(format, args...))
}

func (t *trial) config() string { return filepath.Join(t.set.dir, "freshet.yaml") }

// configure writes the configuration of all nodes.
func (t *trial) configure() error {
	var b strings.Builder
	token := filepath.Join(t.set.dir, "token")
	fmt.Fprintf(&b, "nats: [%s]\ncluster: %s\npartitions: %d\n", machines.BrokerURLs(), name, t.set.partitions)
	if t.set.copies > 0 { // the other build may not know it
		fmt.Fprintf(&b, "copies: %d\n", t.set.copies)
	}
	fmt.Fprintf(&b, "seeds: %q\nscope: any\ncontact: mailto:chaos@example.org\nallow-private: true\n", filepath.Join(t.set.dir, "seeds"))
	fmt.Fprintf(&b, "delay: %v\nretry-delay: 2s\nconnections: 32\nmemory: 256MiB\nmin-free: 8MiB\nrefresh: true\npolicy: uniform\nbudget: %d\ninterval: 1m\n", t.set.delay, t.set.budget)
	fmt.Fprintf(&b, "segments-cache: 8MiB\nwarc-size: 64KiB\n")
	if os.Getenv(storeEndpoint) != "" {
		fmt.Fprintf(&b, "partition-snapshots: s3://%s/snapshots\npartition-snapshots-every: 1m\n", bucket)
	}
	fmt.Fprintf(&b, "plain-http: true\ntoken-file: %q\nresolve:\n", token)
	for _, host := range t.web.names {
		fmt.Fprintf(&b, "  - %s=%s:%d\n", host, machines.Address(machines.Self), webPort)
	}
	return errors.Join(
		os.WriteFile(t.config(), []byte(b.String()), 0o600),
		os.WriteFile(token, []byte("chaos-and-its-token\n"), 0o600),
		os.WriteFile(filepath.Join(t.set.dir, "seeds"), []byte("http://"+t.web.names[0]+"/\n"), 0o600))
}

// begin starts all machines, with this number of nodes. It waits until all pages are known and all hosts have had a
// request.
func (t *trial) begin(nodes int) (err error) {
	t.web = newWeb(t.rng, t.set.partitions, t.set.hosts, t.set.pages)
	if err := errors.Join(machines.MakeBridge(), t.startStore(), t.configure(), t.web.serve()); err != nil {
		return err
	}
	for i := range machines.Brokers {
		m := t.broker(i)
		if err := errors.Join(t.mount(m.Name, brokerDisk), m.Start()); err != nil {
			return err
		}
		t.brokers = append(t.brokers, m)
	}
	for i := range nodes {
		n, err := t.newNode(nodeAddress + 1 + i)
		if err != nil {
			return err
		}
		n.up()
		t.nodes = append(t.nodes, n)
	}
	if t.conn, err = machines.Connect(); err != nil {
		return err
	}
	if t.js, err = jetstream.New(t.conn); err != nil {
		return err
	}
	go t.watch()
	well, err := t.recovered(t.began)
	if err != nil {
		return err
	}
	t.print("seed %d: %d nodes crawl %d hosts in %d partitions, over %d NATS servers; all is well after %.1f s",
		t.set.seed, len(t.nodes), len(t.web.names), t.set.partitions, machines.Brokers, well.Sub(t.began).Seconds())
	if err := t.startMirrors(); err != nil {
		return err
	}
	if err := t.await("all pages are fetched", t.allFetched); err != nil {
		return err
	}
	quiet := real.Now()
	sleep(20 * time.Second)
	t.usual = t.longestPause(quiet, real.Now())
	t.print("%d pages are fetched; without a fault a host is not asked for %.1f s at most", len(t.web.names)*t.web.perHost, t.usual.Seconds())
	return nil
}

// broker returns a NATS server, without starting it.
func (t *trial) broker(i int) *machines.Machine {
	m := &machines.Machine{Name: fmt.Sprint("s", i+1), Number: i + 1, Errors: os.Stderr}
	m.Args = []string{"-role", "server", "-dir", t.files(m)}
	return m
}

// files returns the folder of a NATS server.
func (t *trial) files(m *machines.Machine) string {
	return filepath.Join(t.set.dir, "disk-"+m.Name, "js")
}

// end ends all processes. If the trial has failed it keeps the disks.
func (t *trial) end(failed error) {
	for _, m := range t.mirrors {
		m.stop()
	}
	for _, n := range t.nodes {
		n.signal(syscall.SIGCONT)
		_ = n.down(syscall.SIGKILL)
	}
	for _, m := range t.brokers {
		m.Kill()
	}
	if t.store != nil {
		t.store.Kill()
	}
	if failed != nil {
		t.keepLog()
		disks, _ := filepath.Glob(filepath.Join(t.set.dir, "disk-*"))
		for _, disk := range disks {
			_ = exec.Command("cp", "-r", disk, filepath.Join(t.set.dir, "kept-"+filepath.Base(disk))).Run()
		}
	}
}

// keepLog writes the log of the web and of the bucket.
func (t *trial) keepLog() {
	out, err := os.Create(filepath.Join(t.set.dir, "seen.log"))
	if err != nil {
		return
	}
	defer out.Close()
	for _, e := range t.web.exchanges() {
		fmt.Fprintf(out, "%s web n%d %s%s %d %d cut=%v until %s\n", e.Start.Format(clockTime), e.node-nodeAddress, e.Host, e.Target, e.Status, e.version, e.Cut, e.End.Format(clockTime))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.holdings {
		fmt.Fprintf(out, "%s bucket partition %d: %q %s\n", h.at.Local().Format(clockTime), h.partition, h.node, h.run)
	}
}

const clockTime = "15:04:05.000"

// watch records which node has each partition.
func (t *trial) watch() {
	for ; ; sleep(200 * time.Millisecond) {
		bucket, err := t.js.KeyValue(context.Background(), name+"-nodes")
		if err != nil {
			continue
		}
		w, err := bucket.WatchAll(context.Background())
		if err != nil {
			continue
		}
		for entry := range w.Updates() {
			if entry != nil {
				t.note(entry)
			}
		}
	}
}

func (t *trial) note(entry jetstream.KeyValueEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last := t.heard; last == nil || entry.Revision() > last.Revision() {
		if last != nil && entry.Revision() > last.Revision()+1 {
			t.missed = append(t.missed, span{last.Created(), entry.Created()})
		}
		t.heard = entry
	}
	if text, is := strings.CutPrefix(entry.Key(), "partition."); is {
		var its struct{ Node, Run string }
		if p, err := strconv.Atoi(text); err == nil && json.Unmarshal(entry.Value(), &its) == nil {
			t.holdings = append(t.holdings, holding{weburl.Partition(p), its.Node, its.Run, entry.Created(), entry.Revision()})
		}
	}
	if node, is := strings.CutPrefix(entry.Key(), "node."); is {
		var s cluster.State
		if json.Unmarshal(entry.Value(), &s) == nil {
			t.states[node] = s
		}
	}
}

// mostAtOnce bounds the time that counts between two checks: the whole trial may be stopped for a while.
const mostAtOnce = 20 * time.Second

// await waits until whyNot returns no reason. If that takes too long, the error has the last reason.
func (t *trial) await(what string, whyNot func() string) error {
	waited := time.Duration(0)
	for last := real.Now(); ; sleep(200 * time.Millisecond) {
		why := whyNot()
		if why == "" {
			return nil
		}
		now := real.Now()
		waited, last = waited+min(now.Sub(last), mostAtOnce), now
		if waited > longest {
			return fmt.Errorf("%s: not within %v: %s", what, longest, why)
		}
	}
}

// recovered waits until all is well since a moment, and returns the time.
func (t *trial) recovered(since time.Time) (time.Time, error) {
	err := t.await("no recovery", func() string { return t.sick(since) })
	return real.Now(), err
}

// sick returns what is not well yet. All is well when each stream has a leader and all its copies, each partition has
// a running node, and each host has had a request since a moment.
func (t *trial) sick(since time.Time) string {
	asked := map[string]bool{}
	all := t.web.exchanges()
	for i := len(all) - 1; i >= 0 && all[i].Start.After(since); i-- {
		asked[all[i].Host] = true
	}
	for _, host := range t.web.names {
		if !asked[host] && !t.isDown(host) {
			return fmt.Sprintf("%s, in partition %d, was not asked", host, t.web.hosts[host].partition)
		}
	}
	if why := t.unowned(); why != "" {
		return why
	}
	return machines.Uncopied(t.js)
}

// unowned returns a partition without a running node, or a node without a partition.
func (t *trial) unowned() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	owners := map[weburl.Partition]string{}
	for _, n := range t.nodes {
		s := t.states[n.Name]
		if n.isUp() && (s.Ended || len(s.Partitions) == 0) {
			return n.Name + " has no partition"
		}
		for _, p := range s.Partitions {
			if !s.Ended && n.isUp() {
				owners[p] = n.Name
			}
		}
	}
	for p := range weburl.Partition(t.set.partitions) {
		if owners[p] == "" {
			return fmt.Sprintf("no node has partition %d", p)
		}
	}
	return ""
}

// allFetched returns a page that has not been fetched yet.
func (t *trial) allFetched() string { return t.unfetched(time.Time{}) }

// unfetched returns a page that was not fetched since a moment.
func (t *trial) unfetched(since time.Time) string {
	fetched := map[string]bool{}
	for _, e := range t.web.exchanges() {
		if e.version > 0 && !e.Cut && e.Start.After(since) {
			fetched[e.Host+e.Target] = true
		}
	}
	for _, host := range t.web.names {
		for i := range t.web.perHost {
			if page := host + pagePath(i); !fetched[page] && !t.isGone(host, pagePath(i)) {
				return fmt.Sprintf("%s (%d of %d pages are)", page, len(fetched), len(t.web.names)*t.web.perHost)
			}
		}
	}
	return ""
}

// longestPause returns the longest time between two requests to a host that ended or began within a span.
func (t *trial) longestPause(from, to time.Time) (longest time.Duration) {
	last := map[string]time.Time{}
	all := t.web.exchanges()
	slices.SortFunc(all, func(a, b exchange) int { return a.Start.Compare(b.Start) })
	for _, e := range all {
		if before, asked := last[e.Host]; asked && e.Start.After(from) && before.Before(to) {
			longest = max(longest, e.Start.Sub(before))
		}
		last[e.Host] = e.Start
	}
	for _, host := range slices.Collect(maps.Keys(last)) {
		if !t.isDown(host) {
			longest = max(longest, to.Sub(last[host]))
		}
	}
	return longest
}

// any returns one of the nodes that are up.
func (t *trial) any() *node {
	var up []*node
	for _, n := range t.nodes {
		if n.isUp() {
			up = append(up, n)
		}
	}
	return up[t.rng.IntN(len(up))]
}

func (t *trial) anyBroker() *machines.Machine { return t.brokers[t.rng.IntN(len(t.brokers))] }
