package main

import (
	"strings"
	"testing"

	"freshet/crawl/share"
	"freshet/node/cluster"
	"freshet/weburl"
)

// TestPrintTroubles holds that the command reports a partition that no node can load. It also reports a partition that
// stays where it is because another node cannot load it.
func TestPrintTroubles(t *testing.T) {
	var out strings.Builder
	lacking := func(node, health string, p weburl.Partition) cluster.Member {
		return cluster.Member{Health: health, State: cluster.State{
			Node: node, Ended: health == "ended", Partitions: []weburl.Partition{1}, Lacking: []cluster.Lack{{Partition: p, Why: "it is damaged"}},
		}}
	}
	if err := printNodes(&out, clusterNodes([]cluster.Member{lacking("a", "alive", 3), lacking("b", "alive", 1), lacking("c", "ended", 4)}, 8)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nNo node crawls partition 3. Start a node whose directory has it, or put a whole snapshot of it back. Node a: it is damaged.\n",
		"\nb cannot take partition 1, which stays with a: it is damaged.\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant %q", out.String(), want)
		}
	}
	if strings.Contains(out.String(), "partition 4") {
		t.Errorf("a node that has ended lacks nothing:\n%s", out.String())
	}
}

// TestPrintPauses holds that the command says whether the crawl is paused, and at which nodes sites are. An ended node
// says nothing.
func TestPrintPauses(t *testing.T) {
	member := func(name string, paused bool, sites int) cluster.Member {
		return cluster.Member{Health: "alive", State: cluster.State{Node: name, Vitals: share.Vitals{Paused: paused, SitesPaused: sites}}}
	}
	ended := member("c", false, 7)
	ended.Ended, ended.Health = true, "ended"
	for _, tt := range []struct {
		nodes []cluster.Member
		want  string
	}{
		{[]cluster.Member{member("a", true, 0), member("b", true, 0), ended}, "The crawl is paused. No requests are made until you resume it.\n"},
		{[]cluster.Member{member("a", true, 0), member("b", false, 0)}, "Paused: a. The other nodes crawl, because an order to pause or resume did not reach every node: give it again.\n"},
		{[]cluster.Member{member("a", false, 2), member("b", false, 0), member("d", false, 1), ended}, "Sites that operators have paused: 2 of a, 1 of d.\n"},
		{[]cluster.Member{member("a", false, 0), member("b", false, 0), ended}, ""},
	} {
		var out strings.Builder
		if err := printNodes(&out, clusterNodes(tt.nodes, 8)); err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(out.String(), "\nall ")
		if _, got, _ = strings.Cut(got, "\n"); got != tt.want {
			t.Errorf("got\n%s\nwant at the end %q", out.String(), tt.want)
		}
	}
}

// TestPrintNodes holds that the sum leaves out nodes that have ended, and names the fullest disk.
func TestPrintNodes(t *testing.T) {
	member := func(name, health string, pages, disk int64) cluster.Member {
		first := weburl.Partition(pages)
		return cluster.Member{Health: health, Age: 1, State: cluster.State{
			Node: name, Ended: health == "ended", Partitions: []weburl.Partition{first, first + 1}, Known: []int64{pages, pages},
			Vitals: share.Vitals{Pages: pages, PagesS: 1.5, Failed: 2, Queued: 5, DiskFree: disk, Fetches: 3},
		}}
	}
	var out strings.Builder
	if err := printNodes(&out, clusterNodes([]cluster.Member{
		member("a", "alive", 10, 3<<30), member("b", "silent", 20, 2<<30), member("c", "ended", 40, 1<<30),
	}, 8)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	got := strings.Join(strings.Fields(lines[len(lines)-1]), " ")
	if want := "all 4 60 10 30 3/s 4 6 2.1 GB"; len(lines) != 5 || got != want {
		t.Errorf("got\n%s\nwant a last line %q", out.String(), want)
	}
}

// TestPaceOfFastClock holds that the pace of a node is readable if the clock of its crawl runs fast: its rates are by
// that clock, as in freshet status, and so far below one page a second.
func TestPaceOfFastClock(t *testing.T) {
	var out strings.Builder
	slow := cluster.Member{Health: "alive", State: cluster.State{Node: "a", Vitals: share.Vitals{Pages: 10, PagesS: 5.0 / 2880}}}
	if err := printNodes(&out, clusterNodes([]cluster.Member{slow}, 8)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), " 6.25/h ") {
		t.Errorf("5 pages a second of a machine at --clock 2880 are shown as\n%s", out.String())
	}
}
