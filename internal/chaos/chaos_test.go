//go:build linux

package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"freshet/internal/machines"
	"freshet/internal/sites"
	"freshet/store"
	"freshet/weburl"
)

// TestOverlay holds that the installed Go can build the programs of a trial with a wall clock of their own.
func TestOverlay(t *testing.T) {
	if _, err := overlay(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// judgesCopies holds that copies are compared, and counted: of all nodes, or of as many as there are to be.
func (t *trial) judgesCopies(test *testing.T, url string) {
	u, err := weburl.Parse(url)
	if err != nil {
		test.Fatal(err)
	}
	some := map[string]stored{url: {page: store.Page{URL: u}}}
	for _, c := range []struct{ copies, have, found int }{{0, 3, 0}, {0, 2, 1}, {2, 2, 0}, {2, 1, 1}, {2, 3, 0}} {
		t.set.copies = c.copies
		of := map[string]map[string]stored{}
		for i, name := range []string{"n1", "n2", "n3"} {
			if of[name] = some; i >= c.have {
				of[name] = map[string]stored{}
			}
		}
		if all, found := t.together(of); len(found) != c.found || len(all) != 1 {
			test.Errorf("%+v: %d pages, %v", c, len(all), found)
		}
	}
}

// TestJudges holds that the judges find every fault, and nothing else.
func TestJudges(t *testing.T) {
	tr := newTrial(settings{partitions: 1})
	tr.web = newWeb(rand.New(rand.NewPCG(1, 1)), 1, 1, 1)
	name := tr.web.names[0]
	at := func(s int) time.Time { return tr.web.opened.Add(time.Duration(s) * time.Second) }
	asked := func(node, from, version int) {
		e := sites.Exchange{Host: name, Target: "/", Status: 200, Start: at(from), End: at(from + 1)}
		tr.web.log = append(tr.web.log, &exchange{Exchange: e, node: nodeAddress + node, version: version})
	}
	for i := range 2 {
		tr.nodes = append(tr.nodes, &node{Machine: &machines.Machine{Name: []string{"n1", "n2"}[i]}})
	}
	tr.holdings = []holding{{node: "n1", at: at(0), revision: 1}, {at: at(10), revision: 2}, {node: "n2", at: at(20), revision: 3}}
	asked(1, 5, 1)
	asked(2, 25, 2)
	text := func(version int) []byte { return tr.web.hosts[name].text(name, 0, version, 10) }
	url := "http://" + name + "/"
	has := map[string]stored{url: {page: store.Page{Versions: 2}, bodies: map[uint32][]byte{1: text(1), 2: text(2)}}}
	for what, found := range map[string][]string{
		"trespasses": tr.trespasses(), "lost": tr.lost(has), "unserved": tr.unserved(has), "old": tr.old(has),
	} {
		if len(found) > 0 {
			t.Errorf("%s: %v", what, found)
		}
	}
	tr.missed = []span{{at(12), at(18)}}
	asked(1, 15, 1)
	if found := tr.trespasses(); len(found) > 0 {
		t.Errorf("trespasses while nothing was heard: %v", found)
	}
	tr.web.log = tr.web.log[:2]
	if pause := tr.longestPause(at(0), at(26)); pause != 20*time.Second {
		t.Errorf("the longest pause is %v", pause)
	}
	asked(1, 30, 3)                                     // n2 has the partition, and the version is not stored
	has[url].bodies[3] = text(7)                        // nobody was served this
	tr.nodes[1].ends = append(tr.nodes[1].ends, at(40)) // another node's end explains nothing
	for what, found := range map[string][]string{
		"trespasses": tr.trespasses(), "lost": tr.lost(has), "unserved": tr.unserved(has), "old": tr.old(has),
	} {
		if len(found) != 1 {
			t.Errorf("%s: %v", what, found)
		}
	}
	tr.judgesCopies(t, url)
	tr.nodes[0].ends = append(tr.nodes[0].ends, at(35))
	if found := tr.lost(has); len(found) > 0 {
		t.Errorf("lost, though the node ended: %v", found)
	}
	tr.nodes[0].ends = nil
	tr.gone[name+"/"] = at(28) // before it was asked for again, at 30
	has[url] = stored{page: store.Page{State: store.StatePurged}}
	if found := slices.Concat(tr.lost(has), tr.old(has), tr.unserved(has)); len(found) > 0 || !tr.isDown(name) {
		t.Errorf("%v, though the page was taken down", found)
	}
	if found := tr.askedAgain(); len(found) != 1 {
		t.Errorf("asked for after the take-down: %v", found)
	}
	has[url] = stored{page: store.Page{State: store.StateLive, Versions: 2}}
	if found := tr.old(has); len(found) != 1 {
		t.Errorf("a page that was taken down and lives: %v", found)
	}
}
