//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/internal/machines"
	stored "freshet/log/jetstream"
)

// trial is three servers, three nodes, and the lines that the nodes printed.
type trial struct {
	set     Settings
	dir     string
	rng     *rand.Rand
	servers []*machines.Machine
	nodes   []*machines.Machine
	conn    *nats.Conn
	js      jetstream.JetStream
	began   time.Time

	mu       sync.Mutex
	acked    []map[uint64][]byte    // by partition and number: the chain of the acknowledged entry
	took     []map[string]time.Time // by partition and node: when it wrote last
	idle     time.Duration          // the longest time since the last fault in which a partition was not written
	said     map[string]int
	bytes    int64
	delays   []float64 // ms
	splits   []string
	failures map[string]int
	removed  int // servers whose damaged files had to be removed
}

// fault is something that happens to a machine.
type fault struct {
	name string
	do   func(t *trial) (victim string, err error)
}

var faults = []fault{
	{"kill-server", func(t *trial) (string, error) { return t.restart(t.any(t.servers), 3*time.Second, nil) }},
	{"kill-node", func(t *trial) (string, error) { return t.restart(t.any(t.nodes), 3*t.set.Lease, nil) }},
	{"stop-server", func(t *trial) (string, error) { return t.pause(t.any(t.servers), 10*time.Second) }},
	{"stop-node", func(t *trial) (string, error) { return t.pause(t.any(t.nodes), 3*t.set.Lease) }},
	{"cut-server", func(t *trial) (string, error) { return t.cutOff(t.any(t.servers), t.servers) }},
	{"cut-node", func(t *trial) (string, error) { return t.cutOff(t.any(t.nodes), t.servers) }},
	{"wipe", func(t *trial) (string, error) { return t.restart(t.any(t.servers), 3*time.Second, os.RemoveAll) }},
	{"damage", (*trial).spoil},
}

// try runs the trial in its own network.
func try(s Settings, dir string, seed uint64, events int, spare string) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "gate"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	t := &trial{
		set: s, dir: dir, rng: rand.New(rand.NewPCG(seed, 1)), began: real.Now(),
		acked: make([]map[uint64][]byte, s.Partitions), took: make([]map[string]time.Time, s.Partitions),
		said: map[string]int{}, failures: map[string]int{},
	}
	for p := range t.acked {
		t.acked[p], t.took[p] = map[uint64][]byte{}, map[string]time.Time{}
	}
	defer t.end()
	if err := t.begin(); err != nil {
		return err
	}
	kinds := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return slices.Contains(strings.Split(spare, ","), f.name) })
	for i := range events {
		f := kinds[i%len(kinds)]
		if i%len(kinds) == 0 {
			t.rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
			f = kinds[0]
		}
		before := t.forget()
		victim, err := f.do(t)
		if err != nil {
			return fmt.Errorf("%s %s: %w", f.name, victim, err)
		}
		recovered, err := t.recovered()
		if err != nil {
			return fmt.Errorf("after %s %s: %w", f.name, victim, err)
		}
		t.print("%-12s %s  a partition was not written for %4.1f s at most; all is well %5.1f s after the beginning", f.name, victim,
			t.longestIdle().Seconds(), recovered.Sub(before).Seconds())
	}
	for _, n := range t.nodes {
		n.Kill()
	}
	if _, err := t.recovered(); err != nil {
		return err
	}
	return t.judge()
}

func (t *trial) print(format string, args ...any) {
	fmt.Printf("%7.1f s  %s\n", real.Now().Sub(t.began).Seconds(), fmt.Sprintf(format, args...))
}

// begin starts all machines, and makes the log.
func (t *trial) begin() error {
	if err := machines.MakeBridge(); err != nil {
		return err
	}
	for i := range machines.Brokers {
		t.servers = append(t.servers, t.machine(fmt.Sprintf("s%d", i+1), i+1, "-role", "server", "-dir", t.files(i+1)))
	}
	for _, m := range t.servers {
		if err := m.Start(); err != nil {
			return err
		}
	}
	var err error
	if t.conn, err = machines.Connect(); err != nil {
		return err
	}
	if t.js, err = jetstream.New(t.conn); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		if _, err = stored.Open(ctx, t.conn, options(t.set), real); err == nil {
			within, cancel := context.WithTimeout(ctx, 5*time.Second)
			_, err = t.js.CreateKeyValue(within, jetstream.KeyValueConfig{Bucket: leaseBucket, Replicas: machines.Brokers, TTL: time.Hour})
			cancel()
		}
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return err
		}
		sleep(100 * time.Millisecond)
	}
	t.print("%d streams on %d servers", t.set.Streams, machines.Brokers)
	for i := range 3 {
		m := t.machine(fmt.Sprintf("n%d", i+1), 11+i, "-role", "node",
			"-partitions", fmt.Sprint(t.set.Partitions), "-streams", fmt.Sprint(t.set.Streams), "-lease", t.set.Lease.String(),
			"-pause", t.set.Pause.String(), "-largest", fmt.Sprint(t.set.Largest))
		m.Told = func(line []byte) { t.hear(m.Name, line) }
		t.nodes = append(t.nodes, m)
		if err := m.Start(); err != nil {
			return err
		}
	}
	before := real.Now()
	if _, err := t.recovered(); err != nil {
		return err
	}
	t.print("three nodes have taken %d partitions in %.1f s", t.set.Partitions, real.Now().Sub(before).Seconds())
	sleep(5 * time.Second)
	return nil
}

func (t *trial) machine(name string, number int, args ...string) *machines.Machine {
	return &machines.Machine{Name: name, Number: number, Args: args, Errors: os.Stderr}
}

// files returns the folder of a server.
func (t *trial) files(number int) string { return filepath.Join(t.dir, fmt.Sprintf("s%d", number)) }

func (t *trial) end() {
	for _, m := range slices.Concat(t.nodes, t.servers) {
		m.Kill()
	}
}

func (t *trial) any(of []*machines.Machine) *machines.Machine { return of[t.rng.IntN(len(of))] }

// hear handles a line from a node.
func (t *trial) hear(name string, line []byte) {
	var s said
	if json.Unmarshal(line, &s) != nil {
		return // cut off by a kill
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.said[s.What]++
	switch s.What {
	case "failed":
		t.failures[name+": "+s.Text[max(0, len(s.Text)-60):]]++
	case "took", "wrote":
		if other, ok := t.acked[s.P][s.Seq]; ok && string(other) != string(s.Chain) {
			t.splits = append(t.splits, fmt.Sprintf("partition %d: two entries %d are acknowledged", s.P, s.Seq))
		}
		t.acked[s.P][s.Seq] = s.Chain
		if last := t.last(s.P); !last.IsZero() {
			t.idle = max(t.idle, real.Now().Sub(last))
		}
		t.took[s.P][name] = real.Now()
		t.bytes += int64(s.Bytes)
		if s.What == "wrote" {
			t.delays = append(t.delays, s.Ms)
		}
	}
}

// last returns when a partition was written last. The lock is held.
func (t *trial) last(p int) (last time.Time) {
	for _, at := range t.took[p] {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// forget restarts the measurement of how long partitions are not written.
func (t *trial) forget() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = 0
	return real.Now()
}

func (t *trial) longestIdle() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.idle
}

// restart kills a machine, does something to its files, and starts it again after some time.
func (t *trial) restart(m *machines.Machine, after time.Duration, spoil func(dir string) error) (string, error) {
	m.Kill()
	if spoil != nil {
		if err := spoil(t.files(m.Number)); err != nil {
			return m.Name, err
		}
	}
	sleep(after)
	return m.Name, m.Start()
}

func (t *trial) pause(m *machines.Machine, d time.Duration) (string, error) {
	m.Signal(syscall.SIGSTOP)
	sleep(d)
	m.Signal(syscall.SIGCONT)
	return m.Name, nil
}

// cutOff cuts a machine off others for a while.
func (t *trial) cutOff(m *machines.Machine, others []*machines.Machine) (string, error) {
	others = slices.DeleteFunc(slices.Clone(others), func(o *machines.Machine) bool { return o == m })
	if err := m.Cut(others...); err != nil {
		return m.Name, err
	}
	sleep(10 * time.Second)
	return m.Name, m.Heal(others...)
}

// healing is how long a server with damaged files has to recover by itself.
const healing = 30 * time.Second

// spoil damages files of a server. If the server does not recover by itself, the trial removes all its files, as an
// operator would.
func (t *trial) spoil() (string, error) {
	m := t.any(t.servers)
	name, err := t.restart(m, 3*time.Second, func(dir string) error {
		return machines.Damage(t.rng, dir, func(files int) int { return max(1, files/20) })
	})
	if err != nil {
		return name, err
	}
	if _, err := t.recoveredWithin(healing); err == nil {
		return name, nil
	}
	t.print("%s does not recover: its files are removed", name)
	t.removed++
	return t.restart(m, 3*time.Second, os.RemoveAll)
}

// longest is how long anything may take before the trial fails.
const longest = 2 * time.Minute

// recovered waits until every stream has a leader and its copies are whole, and every partition was written since.
func (t *trial) recovered() (time.Time, error) { return t.recoveredWithin(longest) }

func (t *trial) recoveredWithin(limit time.Duration) (time.Time, error) {
	from := real.Now()
	for {
		why := t.sick(from)
		if why == "" {
			return real.Now(), nil
		}
		if real.Now().Sub(from) > limit {
			return time.Time{}, fmt.Errorf("no recovery within %v: %s", limit, why)
		}
		sleep(200 * time.Millisecond)
	}
}

// sick returns a problem that remains, or "".
func (t *trial) sick(since time.Time) string {
	if why := machines.Uncopied(t.js); why != "" {
		return why
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for p := range t.took {
		if t.running() && !t.last(p).After(since) {
			return fmt.Sprintf("partition %d is not written", p)
		}
	}
	return ""
}

// running reports whether there is a node that writes.
func (t *trial) running() bool { return slices.ContainsFunc(t.nodes, (*machines.Machine).Runs) }
