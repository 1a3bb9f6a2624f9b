//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"freshet/internal/machines"
)

// fault is a fault of one or several machines. It is over when do returns.
type fault struct {
	kind string
	do   func(t *trial) (victim string, err error)
}

var faults = []fault{
	{"kill-node", func(t *trial) (string, error) { return t.restart(t.any(), t.upTo(15*time.Second), nil) }},
	{"stop-node", func(t *trial) (string, error) { return t.pauseNode(lease + t.upTo(10*time.Second)) }},
	{"cut-node", (*trial).cutNode},
	{"wipe-node", func(t *trial) (string, error) {
		n := t.any()
		return t.restart(n, t.upTo(15*time.Second), n.wipe)
	}},
	{"damage-node", (*trial).damageNode},
	{"full-node", (*trial).fillNode},
	{"clock", (*trial).setClock},
	{"join-leave", (*trial).joinOrLeave},
	{"upgrade", (*trial).upgrade},
	{"kill-server", func(t *trial) (string, error) { return t.restartBroker(t.anyBroker(), t.upTo(8*time.Second), nil) }},
	{"kill-leader", (*trial).killLeader},
	{"stop-server", (*trial).pauseBroker},
	{"cut-server", (*trial).cutBroker},
	{"wipe-server", func(t *trial) (string, error) {
		return t.restartBroker(t.anyBroker(), t.upTo(8*time.Second), os.RemoveAll)
	}},
	{"full-server", (*trial).fillBroker},
	{"all-servers", (*trial).killBrokers},
	{"kill-store", (*trial).killStore},
	{"take-down", (*trial).takeDown},
}

// kinds returns the kinds of faults that the flags name.
func (t *trial) kinds() []fault {
	all := slices.Clone(faults)
	if t.set.kinds == "" {
		return all
	}
	return slices.DeleteFunc(all, func(f fault) bool { return !slices.Contains(strings.Split(t.set.kinds, ","), f.kind) })
}

func (t *trial) upTo(d time.Duration) time.Duration { return time.Duration(t.rng.Int64N(int64(d))) }

// restart kills a node, calls spoil on its files, and starts it again after a while.
func (t *trial) restart(n *node, after time.Duration, spoil func() error) (string, error) {
	if err := n.down(syscall.SIGKILL); err != nil {
		return n.Name, err
	}
	if spoil != nil {
		if err := spoil(); err != nil {
			return n.Name, err
		}
	}
	sleep(after)
	n.up()
	return n.Name, nil
}

func (t *trial) pauseNode(d time.Duration) (string, error) {
	n := t.any()
	n.signal(syscall.SIGSTOP)
	sleep(d)
	n.signal(syscall.SIGCONT)
	return n.Name, nil
}

// cutNode cuts a node off from the servers, but not from the web.
func (t *trial) cutNode() (string, error) {
	n := t.any()
	if err := n.Cut(t.brokers...); err != nil {
		return n.Name, err
	}
	process := n.Gone()
	sleep(t.upTo(25 * time.Second))
	select {
	case <-process: // it has ended, so its network is gone
		return n.Name, nil
	default:
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.Heal(t.brokers...); err != nil && n.Runs() && n.Gone() == process {
		return n.Name, err
	}
	return n.Name, nil
}

// damageNode flips bits in a node's files and lets the node work for a while. Then it follows the operator's manual:
// it runs verify, and if that finds damage it removes the directory. The node then reads the logs again.
func (t *trial) damageNode() (string, error) {
	n := t.any()
	damage := func() error {
		return machines.Damage(t.rng, n.data(n.Name), func(int) int { return 1 + t.rng.IntN(3) })
	}
	if _, err := t.restart(n, 0, damage); err != nil {
		return n.Name, err
	}
	sleep(t.upTo(20 * time.Second))
	if err := n.down(syscall.SIGKILL); err != nil {
		return n.Name, err
	}
	if _, err := n.command("verify"); err != nil {
		t.notes["directories that verify found damaged, removed"]++
		if err := n.wipe(); err != nil {
			return n.Name, err
		}
	}
	n.up()
	return n.Name, nil
}

func (t *trial) fillNode() (string, error) {
	n := t.any()
	free, err := fill(n.disk())
	if err != nil {
		return n.Name, err
	}
	sleep(5*time.Second + t.upTo(20*time.Second))
	return n.Name, free()
}

// setClock moves a node's wall clock by up to ten minutes. Sometimes it restarts the node, because only a restarted
// node uses the new time.
func (t *trial) setClock() (string, error) {
	n := t.any()
	n.step(t.upTo(20*time.Minute) - 10*time.Minute)
	sleep(5 * time.Second)
	if t.rng.IntN(2) == 0 {
		return n.Name, nil
	}
	return t.restart(n, 0, nil)
}

// joinOrLeave lets another node join, or stops the last one in order.
func (t *trial) joinOrLeave() (string, error) {
	if len(t.nodes) == firstNodes {
		n, err := t.newNode(nodeAddress + 1 + firstNodes)
		if err != nil {
			return "", err
		}
		t.nodes = append(t.nodes, n)
	}
	n := t.nodes[firstNodes]
	if !n.isUp() {
		n.up()
		return "+" + n.Name, nil
	}
	return "-" + n.Name, n.down(syscall.SIGTERM)
}

// upgrade stops each node in order, one after the other, and starts it with the other build.
func (t *trial) upgrade() (string, error) {
	to := t.programs[0]
	if t.nodes[0].runsProgram() == to {
		to = t.programs[1]
	}
	for _, n := range t.nodes {
		up := n.isUp()
		if err := n.down(syscall.SIGTERM); err != nil {
			return n.Name, err
		}
		n.upgrade(to)
		if !up {
			continue
		}
		n.up()
		if err := t.await(n.Name+" with the other build", t.unowned); err != nil {
			return n.Name, err
		}
	}
	return "to " + filepath.Base(to), nil
}

// restartBroker kills a server, calls spoil on its files, and starts it again after a while.
func (t *trial) restartBroker(m *machines.Machine, after time.Duration, spoil func(dir string) error) (string, error) {
	m.Kill()
	if spoil != nil {
		if err := spoil(t.files(m)); err != nil {
			return m.Name, err
		}
	}
	sleep(after)
	return m.Name, m.Start()
}

// killLeader kills the server that leads a stream.
func (t *trial) killLeader() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	s, err := t.js.Stream(ctx, fmt.Sprintf("%s-log-%d", name, t.rng.IntN(4)))
	if err != nil {
		return "", err
	}
	for _, m := range t.brokers {
		if c := s.CachedInfo().Cluster; c != nil && c.Leader == m.Name {
			return t.restartBroker(m, t.upTo(8*time.Second), nil)
		}
	}
	return "", errors.New("a stream has no leader")
}

func (t *trial) pauseBroker() (string, error) {
	m := t.anyBroker()
	m.Signal(syscall.SIGSTOP)
	sleep(t.upTo(15 * time.Second))
	m.Signal(syscall.SIGCONT)
	return m.Name, nil
}

// cutBroker cuts a server off from the other servers.
func (t *trial) cutBroker() (string, error) {
	m := t.anyBroker()
	others := slices.DeleteFunc(slices.Clone(t.brokers), func(o *machines.Machine) bool { return o == m })
	if err := m.Cut(others...); err != nil {
		return m.Name, err
	}
	sleep(t.upTo(15 * time.Second))
	return m.Name, m.Heal(others...)
}

// fillBroker fills a server's disk. A server that cannot write stops serving its streams, so fillBroker restarts it
// when there is space again.
func (t *trial) fillBroker() (string, error) {
	m := t.anyBroker()
	free, err := fill(filepath.Dir(t.files(m)))
	if err != nil {
		return m.Name, err
	}
	sleep(5*time.Second + t.upTo(10*time.Second))
	if err := free(); err != nil {
		return m.Name, err
	}
	return t.restartBroker(m, 0, nil)
}

// killBrokers kills all servers for longer than a lease, so that no node can work.
func (t *trial) killBrokers() (string, error) {
	for _, m := range t.brokers {
		m.Kill()
	}
	sleep(lease + t.upTo(5*time.Second))
	for _, m := range t.brokers {
		if err := m.Start(); err != nil {
			return m.Name, err
		}
	}
	return "all", nil
}

// killStore kills the object store for up to a minute.
func (t *trial) killStore() (string, error) {
	t.store.Kill()
	sleep(t.upTo(time.Minute))
	return t.store.Name, t.store.Start()
}
