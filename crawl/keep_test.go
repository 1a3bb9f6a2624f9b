package crawl

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/warc"
)

// TestLowDisk holds that a crawl ends, cleanly, before the disk is full, and goes on when there is space.
func TestLowDisk(t *testing.T) {
	web := newTestWeb(t, 2, 5)
	disk := vfs.NewMem()
	o := web.options(t, disk, "data")
	o.MinFree = 1 << 30
	disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1<<30 - 1, TotalBytes: 1 << 40})
	if summary := run(t, o); summary.StoppedBy != DiskFull || summary.Pages > 0 {
		t.Errorf("with too little space: %+v: want nothing fetched, stopped by %s", summary, DiskFull)
	}
	disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 30, TotalBytes: 1 << 40})
	if summary := run(t, o); summary.StoppedBy != FrontierEmpty || summary.Pages == 0 {
		t.Errorf("with space: %+v: want it to go on to its end", summary)
	}
}

// TestPurgeWhileCrawling holds that what an operator purges of a running crawl is in no WARC file when
// the crawl has ended.
func TestPurgeWhileCrawling(t *testing.T) {
	web := newTestWeb(t, 2, 5)
	disk := vfs.NewMem()
	o := web.options(t, disk, "data")
	run(t, o)
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.store.BeginPurge(e.opt.Clock.Now(), store.Target{Site: "http://h1.test"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(context.Background(), context.Background()); err != nil {
		t.Fatal(err)
	}
	files, err := e.store.Files()
	if err != nil {
		t.Fatal(err)
	}
	var index bytes.Buffer
	if err := warc.Index(&index, warc.IndexOptions{FS: disk, Temp: "index"}, files...); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(index.String(), "//h1.test") || !strings.Contains(index.String(), "//h0.test") {
		t.Errorf("captures that are left:\n%s", index.String())
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
