package node

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"freshet/clock"
	"freshet/crawl"
	"freshet/store/warc"
)

// TestLowDisk holds that a crawl ends, cleanly, before the disk is full, and goes on when there is space.
func TestLowDisk(t *testing.T) {
	web := newTestWeb(t, 2, 5)
	disk := vfs.NewMem()
	o := web.options(t, disk, "data")
	o.MinFree = 1 << 30
	disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1<<30 - 1, TotalBytes: 1 << 40})
	if summary := run(t, o); summary.StoppedBy != crawl.DiskFull || summary.Pages > 0 {
		t.Errorf("with too little space: %+v: want nothing fetched, stopped by %s", summary, crawl.DiskFull)
	}
	disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 30, TotalBytes: 1 << 40})
	if summary := run(t, o); summary.StoppedBy != crawl.FrontierEmpty || summary.Pages == 0 {
		t.Errorf("with space: %+v: want it to go on to its end", summary)
	}
}

// logOf returns the fields of the last line of each URL in the log.
func logOf(t *testing.T, disk vfs.FS) map[string][]string {
	t.Helper()
	f, err := disk.Open("data/crawl.log")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	lines := map[string][]string{}
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) > logURL {
			lines[fields[logURL]] = fields
		}
	}
	return lines
}

// TestPurge holds that no WARC file has the pages that an operator purged: when the crawl has ended or, without a
// running crawl, when the directory is closed.
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
		logged := logOf(t, disk)
		if purged := logged["http://h2.test/p/1"]; len(purged) != logFields || purged[logDigest] != "-" || purged[logType] != "-" {
			t.Errorf("running %v: the log says of a purged page: %q", running, purged)
		}
		if kept := logged["http://h2.test/p/2"]; len(kept) != logFields || kept[logDigest] == "-" || kept[logType] == "-" {
			t.Errorf("running %v: the log says of another page: %q", running, kept)
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

// unreadable lets the first WARC files not be opened.
type unreadable struct{ times atomic.Int32 }

func (u *unreadable) MaybeError(op errorfs.Op) error {
	if op.Kind == errorfs.OpOpen && strings.HasSuffix(op.Path, ".warc.gz") && u.times.Add(-1) >= 0 {
		return errorfs.ErrInjected
	}
	return nil
}

func (u *unreadable) String() string { return "unreadable" }

// lines are the lines of the log.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// TestPurgeIsTriedAgain holds that a purge that could not finish does so soon after the fault is over. It does not
// wait for the next sweep.
func TestPurgeIsTriedAgain(t *testing.T) {
	web := newTestWeb(t, 1, 3)
	disk, damage := vfs.NewMem(), &unreadable{}
	o := web.options(t, disk, "data")
	run(t, o)
	said := make(lines, 100)
	o.Keep.Versions = 5 // so that sweeps are counted
	o.FS, o.Wait, o.Clock, o.Logger = errorfs.Wrap(disk, damage), true, clock.New(time.Unix(1.8e9, 0), 1000), slog.New(slog.NewTextHandler(said, nil))
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	damage.times.Store(2)
	if err := e.Purge(mustParse(t, "http://h0.test/p/1")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := e.Run(ctx, context.Background()); err != nil {
			t.Error(err)
		}
	}()
	failed := 0
	for line := range said {
		if strings.Contains(line, "work=purge") {
			failed++
		}
		if strings.Contains(line, "msg=purged") {
			break
		}
	}
	if _, sweeps, _ := e.keeper.swept(); failed != 2 || sweeps > 0 {
		t.Errorf("%d failures, %d sweeps: want 2 and none", failed, sweeps)
	}
	stop()
	<-ended
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// closedFiles returns the files in the folder of one file. That file may be gone.
func closedFiles(disk vfs.FS, one string) (paths []string, err error) {
	dir := disk.PathDir(one)
	names, err := disk.List(dir)
	for _, name := range names {
		paths = append(paths, disk.PathJoin(dir, name))
	}
	return paths, err
}
