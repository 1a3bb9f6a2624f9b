//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/internal/remains"
	"freshet/weburl"
)

// takeDowns are the pages that were taken down, as host and path, and when the order had been carried out. The trial
// changes them only between waits for all to be well.
type takeDowns map[string]time.Time

// takeDown has a page, or a whole host, taken down while another fault happens. Any node gets the order, again and
// again until one says that it is carried out.
func (t *trial) takeDown() (string, error) {
	var hosts []string
	for _, host := range t.web.names[1:] {
		if !t.isDown(host) {
			hosts = append(hosts, host)
		}
	}
	if len(hosts) < len(t.web.names)/2 {
		return "", nil // enough
	}
	host := hosts[t.rng.IntN(len(hosts))]
	number := t.rng.IntN(t.web.perHost)
	gone, args := []string{host + pagePath(number)}, []string{"purge", "--page", "http://" + host + pagePath(number)}
	if t.rng.IntN(3) == 0 {
		gone, args = nil, []string{"purge", "--site", "--yes", "http://" + host + "/"}
		for i := range t.web.perHost {
			gone = append(gone, host+pagePath(i))
		}
	}
	owner := t.any()
	for _, n := range t.nodes {
		if n.isUp() && t.owners()[t.web.hosts[host].partition] == n.Name {
			owner = n
		}
	}
	nodes := slices.DeleteFunc(slices.Clone(t.nodes), func(n *node) bool { return !n.isUp() })
	t.rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	ordered := make(chan error, 1)
	go func() {
		given := 0
		ordered <- t.await("take down "+args[len(args)-1], func() string {
			given++
			if err := t.order(nodes[given%len(nodes)], args...); err != nil {
				return err.Error()
			}
			return ""
		})
	}()
	sleep(t.upTo(time.Second))
	var err error
	switch t.rng.IntN(4) {
	case 0, 1:
		_, err = t.restart(owner, t.upTo(15*time.Second), nil)
	case 2:
		_, err = t.restartBroker(t.anyBroker(), t.upTo(8*time.Second), nil)
	case 3:
		_, err = t.killStore()
	}
	if failed := <-ordered; failed != nil {
		return host, failed
	}
	for _, page := range gone {
		if _, already := t.gone[page]; !already {
			t.gone[page] = real.Now()
		}
	}
	return fmt.Sprintf("%d of %s", len(gone), host), err
}

// isDown reports whether all pages of a host were taken down.
func (t *trial) isDown(host string) bool {
	for i := range t.web.perHost {
		if _, gone := t.gone[host+pagePath(i)]; !gone {
			return false
		}
	}
	return true
}

// isGone reports whether a page was taken down.
func (t *trial) isGone(host, path string) bool {
	_, gone := t.gone[host+path]
	return gone
}

// pending returns a partition whose log or snapshots still have pages that were taken down.
func (t *trial) pending() string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	bucket, err := t.js.KeyValue(ctx, name+"-nodes")
	if err != nil {
		return err.Error()
	}
	for p := range weburl.Partition(t.set.partitions) {
		entry, err := bucket.Get(ctx, fmt.Sprint("TAKEDOWN.", p))
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue // it has had none
		} else if err != nil {
			return err.Error()
		}
		var its struct{ Pending uint64 }
		if err := json.Unmarshal(entry.Value(), &its); err != nil {
			return err.Error()
		}
		if its.Pending > 0 {
			return fmt.Sprintf("partition %d: its log may not begin below entry %d", p, its.Pending)
		}
	}
	return ""
}

// askedAgain returns requests for pages that came after these were taken down.
func (t *trial) askedAgain() (found []string) {
	for _, e := range t.web.exchanges() {
		if at, gone := t.gone[e.Host+e.Target]; gone && e.version > 0 && e.Start.After(at) {
			found = append(found, fmt.Sprintf("%s%s at %s, taken down at %s", e.Host, e.Target, e.Start.Format(clockTime), at.Format(clockTime)))
		}
	}
	return found
}

// remaining returns the files that have a byte of a page that was taken down: of nodes that have ended in order, of the
// mirrors, in the object store, and the log as a node reads it. The servers' own files are not searched, because they
// may have deleted entries until JetStream compacts them. remaining also returns the places where it finds no page at
// all: there it would be blind.
func (t *trial) remaining(here []*node) (found []string, err error) {
	var texts []string
	for page := range t.gone {
		host, path, _ := strings.Cut(page, "/")
		texts = append(texts, title(host, pageNumber("/"+path)))
	}
	if len(texts) == 0 {
		return nil, nil
	}
	logs := filepath.Join(t.set.dir, "logs")
	if err := t.copyLogs(logs); err != nil {
		return nil, err
	}
	dirs := []string{logs, filepath.Join(t.set.dir, "store", bucket, "snapshots")}
	for _, n := range here { // the captures of disks that were wiped, and of nodes that have left, are not in reach
		dirs = append(dirs, n.data(n.Name), filepath.Join(t.set.dir, "store", bucket, fmt.Sprintf("%s-%d", n.Name, n.disks)))
	}
	for _, m := range t.mirrors {
		dirs = append(dirs, m.dir)
	}
	for _, dir := range dirs {
		left, err := remains.Find(vfs.Default, dir, texts...)
		if err != nil {
			return nil, err
		}
		found = append(found, left...)
		if any, err := remains.Find(vfs.Default, dir, versionMark); err != nil || len(any) == 0 {
			found = append(found, fmt.Sprintf("%s: no page is found there: %v", dir, err))
		}
	}
	return found, nil
}

// copyLogs writes each entry of the cluster's log to a file.
func (t *trial) copyLogs(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	streams := t.js.ListStreams(ctx)
	for info := range streams.Info() {
		if !strings.HasPrefix(info.Config.Name, name+"-log-") {
			continue
		}
		s, err := t.js.Stream(ctx, info.Config.Name)
		if err != nil {
			return err
		}
		for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
			m, err := s.GetMsg(ctx, seq)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue
			} else if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d", info.Config.Name, seq)), m.Data, 0o600); err != nil {
				return err
			}
		}
	}
	return streams.Err()
}
