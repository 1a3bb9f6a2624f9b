package crawl

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

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

// TestPurge holds that what an operator purges is in no WARC file when the crawl has ended or, where none
// runs, when the directory is closed.
func TestPurge(t *testing.T) {
	for _, running := range []bool{true, false} {
		web := newTestWeb(t, 3, 5)
		disk := vfs.NewMem()
		o := web.options(t, disk, "data")
		run(t, o)
		e, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Purge(mustParse(t, "http://h2.test/p/1")); err != nil {
			t.Fatal(err)
		}
		if n, err := e.PurgeSite("http://h1.test"); err != nil || n < 5 {
			t.Errorf("%d pages of h1 are purged, %v", n, err)
		}
		if running {
			if _, err := e.Run(context.Background(), context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		files, err := e.store.Files()
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if files, err = closedFiles(disk, files[0]); err != nil {
			t.Fatal(err)
		}
		var index bytes.Buffer
		if err := warc.Index(&index, warc.IndexOptions{FS: disk, Temp: "index"}, files...); err != nil {
			t.Fatal(err)
		}
		left := index.String()
		if strings.Contains(left, "//h1.test") || strings.Contains(left, "//h2.test/p/1\"") || !strings.Contains(left, "//h0.test") || !strings.Contains(left, "//h2.test/p/2\"") {
			t.Errorf("running %v: captures that are left:\n%s", running, left)
		}
	}
}

// closedFiles returns the files of the folder that one of them is or was in.
func closedFiles(disk vfs.FS, one string) (paths []string, err error) {
	dir := disk.PathDir(one)
	names, err := disk.List(dir)
	for _, name := range names {
		paths = append(paths, disk.PathJoin(dir, name))
	}
	return paths, err
}
