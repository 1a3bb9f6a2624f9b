package main

import (
	"strings"
	"testing"

	"freshet/crawl/share"
	"freshet/node/cluster"
	"freshet/weburl"
)

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
	if want := "all 4 60 10 30 3.0 4 6 2.1 GB"; len(lines) != 5 || got != want {
		t.Errorf("got\n%s\nwant a last line %q", out.String(), want)
	}
}
