//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"freshet/internal/sites"
	"freshet/store"
	"freshet/weburl"
)

// mirror is a freshet subscribe process that follows the feed of some nodes.
type mirror struct {
	dir, log string
	cmd      *exec.Cmd
}

// startMirrors starts a mirror of the first node, and one that may use any node. A node with only some of the
// partitions serves no feed.
func (t *trial) startMirrors() error {
	if t.set.copies > 0 {
		return nil
	}
	var all []string
	for _, n := range t.nodes {
		all = append(all, "http://"+n.address(n.Number))
	}
	for i, addresses := range [][]string{all[:1], all} {
		m := &mirror{dir: filepath.Join(t.set.dir, fmt.Sprint("mirror-", i+1))}
		m.log = m.dir + ".ndjson"
		out, err := os.Create(m.log)
		if err != nil {
			return err
		}
		says, err := os.Create(m.dir + ".log")
		if err != nil {
			return err
		}
		m.cmd = exec.Command(t.programs[0], "subscribe", strings.Join(addresses, ","), "--mirror", m.dir, "--ndjson", "--quiet",
			"--token-file", filepath.Join(t.set.dir, "token"))
		m.cmd.Stdout, m.cmd.Stderr = out, says
		m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := m.cmd.Start(); err != nil {
			return err
		}
		t.mirrors = append(t.mirrors, m)
	}
	return nil
}

func (m *mirror) stop() {
	if m.cmd.ProcessState == nil {
		_ = m.cmd.Process.Signal(syscall.SIGTERM)
		_ = m.cmd.Wait()
	}
}

// change is a change that a mirror received.
type change struct {
	Kind, URL, Digest string
	Version           uint32
}

// told returns all changes that a mirror received, and the time of the last.
func (m *mirror) told() (all []change, last time.Time) {
	raw, err := os.ReadFile(m.log)
	if err != nil {
		return nil, last
	}
	if info, err := os.Stat(m.log); err == nil {
		last = info.ModTime()
	}
	for line := range bytes.Lines(raw) {
		var c change
		if json.Unmarshal(line, &c) == nil {
			all = append(all, c)
		}
	}
	return all, last
}

// stored is a page as a node stores it.
type stored struct {
	page     store.Page
	versions []store.Version
	visits   []store.Visit
	bodies   map[uint32][]byte
}

// judge ends the crawl and compares the stored pages, the mirrors and the web's log with one another.
func (t *trial) judge() error {
	here := slices.DeleteFunc(slices.Clone(t.nodes), func(n *node) bool { return !n.isUp() }) // the others have left
	if err := t.settle(here); err != nil {
		return err
	}
	found := map[string][]string{}
	copies := map[string]map[string]stored{}
	for _, n := range here {
		if n.Exit() != interrupted {
			found["nodes that do not end as asked"] = append(found["nodes that do not end as asked"], fmt.Sprintf("%s: exit code %d", n.Name, n.Exit()))
		}
		if out, err := n.command("verify"); err != nil {
			found["directories that verify finds wrong"] = append(found["directories that verify finds wrong"], n.Name+": "+out)
		}
		has, err := read(n.data(n.Name))
		if err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		copies[n.Name] = has
	}
	left, err := t.remaining(here)
	if err != nil {
		return err
	}
	found["files that have a page that was taken down"] = left
	found["requests for a page that was taken down"] = t.askedAgain()
	first, differing := t.together(copies)
	found["copies that differ, or are missing"] = differing
	found["pages that are missing or old"] = t.old(first)
	found["stored, and never served"] = t.unserved(first)
	found["served, and lost though the node went on"] = t.lost(first)
	for _, m := range t.mirrors {
		found["told by the feed, and lost"] = append(found["told by the feed, and lost"], t.untold(m, first)...)
		found["files of a mirror that differ"] = append(found["files of a mirror that differ"], m.differ(first)...)
	}
	for _, v := range sites.Violations(t.siteLog(), t.set.delay) {
		found["requests that came too soon, or two at once"] = append(found["requests that came too soon, or two at once"], v.String())
	}
	found["requests of a node that had not the partition"] = t.trespasses()
	t.report(first)
	return verdict(found)
}

// settle freezes the web, waits until each page is fetched again, and ends all processes in order.
func (t *trial) settle(here []*node) error {
	frozen := t.web.freeze()
	for _, host := range t.web.names {
		if t.isDown(host) {
			continue
		}
		if err := t.order(here[0], "recrawl", "--site", "http://"+host+"/"); err != nil {
			return err
		}
	}
	if err := t.await("each page is fetched again", func() string { return t.unfetched(frozen) }); err != nil {
		return err
	}
	if err := t.order(here[0], "pause"); err != nil {
		return err
	}
	if err := t.await("requests end", func() string {
		all := t.web.exchanges()
		if quiet := real.Now().Sub(all[len(all)-1].Start); quiet < 10*time.Second {
			return fmt.Sprintf("the last one was %v ago", quiet)
		}
		return ""
	}); err != nil {
		return err
	}
	if err := t.await("take-downs reach the log and the snapshots", t.pending); err != nil {
		return err
	}
	if err := t.await("the mirrors hear nothing new", func() string {
		for _, m := range t.mirrors {
			if _, last := m.told(); real.Now().Sub(last) < 10*time.Second {
				return m.dir
			}
		}
		return ""
	}); err != nil {
		return err
	}
	for _, m := range t.mirrors {
		m.stop()
	}
	var all sync.WaitGroup
	errs := make([]error, len(here))
	for i, n := range here {
		all.Go(func() {
			errs[i] = n.down(syscall.SIGTERM)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// interrupted is the exit code of a program that was asked to stop.
const interrupted = 3

// order gives an order to one node, which forwards it to the nodes concerned.
func (t *trial) order(to *node, args ...string) error {
	said, err := to.command(args...)
	if err != nil {
		return fmt.Errorf("%s: %v: %w: %s", to.Name, args, err, said)
	}
	return nil
}

// read returns the pages that a directory has, by URL.
func read(dir string) (map[string]stored, error) {
	s, err := open(dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	all := map[string]stored{}
	for p := range weburl.Partition(s.Partitions()) {
		for at, err := range s.Pages(p) {
			if err != nil {
				return nil, err
			}
			one := stored{page: at.Page, bodies: map[uint32][]byte{}}
			if one.versions, err = s.Versions(p, at.Fingerprint); err != nil {
				return nil, err
			}
			if one.visits, err = s.Visits(p, at.Fingerprint); err != nil {
				return nil, err
			}
			for i := range one.versions {
				v := &one.versions[i]
				if body, err := s.VersionBody(at.URL, v); err == nil {
					one.bodies[v.Number] = body.Payload
				}
				v.Capture = store.Pointer{} // each directory has its own
			}
			for i := range one.visits {
				one.visits[i].Capture = store.Pointer{}
			}
			all[at.URL.String()] = one
		}
	}
	return all, nil
}

// together returns the pages of all nodes together, and the differences between their copies. By default every node
// must have all pages. With --copies, that many nodes must have each partition, and each of them must have all of it.
func (t *trial) together(copies map[string]map[string]stored) (all map[string]stored, found []string) {
	all = map[string]stored{}
	names := slices.Sorted(maps.Keys(copies))
	for p := range weburl.Partition(t.set.partitions) {
		of := map[string]map[string]stored{}
		for _, name := range names {
			some := map[string]stored{}
			for url, one := range copies[name] {
				if h := t.web.hosts[one.page.URL.Site().Host()]; h != nil && h.partition == p {
					some[url] = one
				}
			}
			if len(some) > 0 || t.set.copies == 0 {
				of[name] = some
			}
		}
		if has := len(of); has < min(t.set.copies, len(names)) {
			found = append(found, fmt.Sprintf("partition %d is on %d nodes", p, has))
		}
		keepers := slices.Sorted(maps.Keys(of))
		for _, name := range keepers {
			found = append(found, differ(keepers[0], name, of[keepers[0]], of[name])...)
		}
		if len(keepers) > 0 {
			maps.Copy(all, of[keepers[0]])
		}
	}
	return all, found
}

// differ returns the pages that differ between two nodes.
func differ(a, b string, first, other map[string]stored) (all []string) {
	for _, url := range slices.Sorted(maps.Keys(first)) {
		x, y := first[url], other[url]
		switch {
		case y.page.URL.String() != url:
			all = append(all, fmt.Sprintf("%s: %s does not know it", url, b))
		case !slices.Equal(x.versions, y.versions):
			all = append(all, fmt.Sprintf("%s: %d versions at %s, %d at %s, or others", url, len(x.versions), a, len(y.versions), b))
		case !slices.Equal(x.visits, y.visits):
			all = append(all, fmt.Sprintf("%s: %d visits at %s, %d at %s, or others", url, x.page.Visits, a, y.page.Visits, b))
		case !maps.EqualFunc(x.bodies, y.bodies, bytes.Equal) || len(x.bodies) < len(x.versions):
			all = append(all, fmt.Sprintf("%s: the bodies of %s and %s differ, or are missing", url, a, b))
		}
	}
	for url := range other {
		if _, known := first[url]; !known {
			all = append(all, fmt.Sprintf("%s: %s does not know it", url, a))
		}
	}
	return all
}

// old returns the pages of the web whose present version is not stored.
func (t *trial) old(has map[string]stored) (all []string) {
	served := map[string]int{}
	for _, e := range t.web.exchanges() {
		if e.version > 0 {
			served[e.Host+e.Target] = e.version // the last one, of the frozen web
		}
	}
	for _, host := range t.web.names {
		for i := range t.web.perHost {
			one := has["http://"+host+pagePath(i)]
			if t.isGone(host, pagePath(i)) {
				if one.page.State != store.StatePurged || len(one.versions)+len(one.visits) > 0 {
					all = append(all, fmt.Sprintf("%s%s: taken down, and its state is %v with %d versions", host, pagePath(i), one.page.State, len(one.versions)))
				}
			} else if got, want := versionIn(one.bodies[one.page.Versions]), served[host+pagePath(i)]; got != want {
				all = append(all, fmt.Sprintf("%s%s: version %d, want %d", host, pagePath(i), got, want))
			}
		}
	}
	return all
}

// kept returns the stored versions of each page.
func kept(has map[string]stored) map[string]map[int]bool {
	all := map[string]map[int]bool{}
	for url, one := range has {
		all[url] = map[int]bool{}
		for _, body := range one.bodies {
			all[url][versionIn(body)] = true
		}
	}
	return all
}

// unserved returns stored versions that the web has never served.
func (t *trial) unserved(has map[string]stored) (found []string) {
	served := map[string]bool{}
	for _, e := range t.web.exchanges() {
		served[fmt.Sprint("http://", e.Host, e.Target, e.version)] = true
	}
	for url, versions := range kept(has) {
		for v := range versions {
			if !served[fmt.Sprint(url, v)] {
				found = append(found, fmt.Sprintf("%s: version %d", url, v))
			}
		}
	}
	return found
}

// storing is the longest time from an answer until it is in the log of the cluster.
const storing = 40 * time.Second

// lost returns versions that the web served to a node that kept running, but that are not stored.
func (t *trial) lost(has map[string]stored) (found []string) {
	versions := kept(has)
	for _, e := range t.web.exchanges() {
		if e.Status != 200 || e.version == 0 || e.Cut || t.isGone(e.Host, e.Target) || versions["http://"+e.Host+e.Target][e.version] {
			continue
		}
		if n := t.nodes[e.node-nodeAddress-1]; n.endedIn(e.Start, e.End.Add(storing)) {
			t.notes["answers on their way when their node ended, fetched again"]++
			continue
		}
		found = append(found, fmt.Sprintf("%s%s: version %d, served to n%d at %s", e.Host, e.Target, e.version, e.node-nodeAddress, e.End.Format(clockTime)))
	}
	return found
}

// untold returns the changes that a mirror received but the directory does not have.
func (t *trial) untold(m *mirror, has map[string]stored) (found []string) {
	all, _ := m.told()
	for _, c := range all {
		if c.Version == 0 || has[c.URL].page.State == store.StatePurged {
			continue
		}
		if !slices.ContainsFunc(has[c.URL].versions, func(v store.Version) bool {
			return v.Number == c.Version && fmt.Sprintf("%x", v.BodyDigest[:]) == c.Digest
		}) {
			found = append(found, fmt.Sprintf("%s: version %d, digest %s", c.URL, c.Version, c.Digest))
		}
	}
	return found
}

// differ returns files of the mirror that differ from the stored pages.
func (m *mirror) differ(has map[string]stored) (found []string) {
	files := map[string]bool{}
	for url, one := range has {
		if one.page.State != store.StateLive {
			continue
		}
		name := strings.Replace(url, "://", "/", 1)
		if strings.HasSuffix(name, "/") {
			name += "index.html"
		}
		files[filepath.Join(m.dir, name)] = true
		if got, err := os.ReadFile(filepath.Join(m.dir, name)); err != nil || !bytes.Equal(got, one.bodies[one.page.Versions]) {
			found = append(found, fmt.Sprintf("%s of %s: version %d, want %d", url, filepath.Base(m.dir), versionIn(got), versionIn(one.bodies[one.page.Versions])))
		}
	}
	_ = filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !files[path] && !strings.Contains(path, "/.freshet/") {
			found = append(found, path+" should not be there")
		}
		return nil
	})
	return found
}

func (t *trial) siteLog() (all []sites.Exchange) {
	for _, e := range t.web.exchanges() {
		all = append(all, e.Exchange)
	}
	return all
}

// trespasses returns requests of a node at a time when it did not have the partition. The servers keep only the last
// entry of each partition. If the trial has missed some, as the numbers of the entries show, it does not know who had
// the partition.
func (t *trial) trespasses() (found []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	by := map[weburl.Partition][]holding{}
	slices.SortFunc(t.holdings, func(a, b holding) int { return int(int64(a.revision) - int64(b.revision)) })
	for _, h := range t.holdings {
		by[h.partition] = append(by[h.partition], h)
	}
	for _, e := range t.web.exchanges() {
		p, who := t.web.hosts[e.Host].partition, "nobody"
		for _, h := range by[p] {
			if h.at.Before(e.Start) {
				who = h.node
			}
		}
		if slices.ContainsFunc(t.missed, func(m span) bool { return e.Start.After(m.from) && e.Start.Before(m.to) }) {
			t.notes["requests at times at which the trial did not hear who has what"]++
			continue
		}
		if asker := fmt.Sprint("n", e.node-nodeAddress); who != asker {
			found = append(found, fmt.Sprintf("%s%s was asked by %s at %s, when %q had partition %d", e.Host, e.Target, asker, e.Start.Format(clockTime), who, p))
		}
	}
	return found
}

// report prints how long recoveries took, and how much was done.
func (t *trial) report(has map[string]stored) {
	fmt.Println()
	tabulate(t.result.Events)
	versions, visits := 0, 0
	for _, one := range has {
		versions += len(one.versions)
		visits += int(one.page.Visits)
	}
	took := map[string]bool{}
	t.mu.Lock()
	for _, h := range t.holdings {
		if h.node != "" {
			took[fmt.Sprint(h.partition, h.run, h.revision)] = true
		}
	}
	t.mu.Unlock()
	exchanges := t.siteLog()
	t.result.Requests, t.result.Pages, t.result.Versions, t.result.Taken = len(exchanges), len(has), versions, len(took)
	fmt.Printf("\n%d requests, %d of them cut; %d pages, %d versions, %d visits; partitions taken %d times\n", len(exchanges), cut(exchanges), len(has), versions, visits, len(took))
	files, size := t.moved()
	fmt.Printf("%d files of captures, %.1f MB, are in the object store\n", files, float64(size)/1e6)
	for i, m := range t.mirrors {
		all, _ := m.told()
		fmt.Printf("mirror %d was told of %d changes\n", i+1, len(all))
	}
	for _, what := range slices.Sorted(maps.Keys(t.notes)) {
		fmt.Printf("%s: %d\n", what, t.notes[what])
	}
}

func cut(all []sites.Exchange) (n int) {
	for _, e := range all {
		if e.Cut {
			n++
		}
	}
	return n
}

// verdict prints the findings. It returns an error if there are any.
func verdict(found map[string][]string) error {
	bad := 0
	for _, what := range slices.Sorted(maps.Keys(found)) {
		all := found[what]
		fmt.Printf("%s: %d\n", what, len(all))
		for _, line := range all[:min(8, len(all))] {
			fmt.Println("  " + line)
		}
		bad += len(all)
	}
	if bad > 0 {
		return errors.New("the cluster does not hold")
	}
	return nil
}
