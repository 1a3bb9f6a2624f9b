package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/internal/powercut"
	"freshet/node"
	"freshet/store"
	"freshet/store/repair"
	"freshet/store/transfer"
	"freshet/weburl"
)

// TestSnapshotCrash asks a running crawl for a snapshot at its socket. It cuts the power at every write and sync
// meanwhile, the crawl's own included. After each cut the directory is whole. Either the snapshot exists and restores,
// or it does not exist and can be made.
func TestSnapshotCrash(t *testing.T) {
	web := httptest.NewServer(smallWeb())
	t.Cleanup(web.Close)
	memory := vfs.NewCrashableMem()
	disk := powercut.Watch(memory, 0)
	u, err := weburl.Parse("http://site.test/")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := node.Open(node.Options{
		Dir: "data", FS: disk, Partitions: 2, Seeds: []weburl.URL{u}, Wait: true, AllowPrivate: true, Retries: new(0),
		Resolve: map[string]netip.AddrPort{"site.test": netip.MustParseAddrPort(strings.TrimPrefix(web.URL, "http://"))},
	})
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	listener, err := listenSocket(filepath.Join(data, socketName))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: withSnapshots(engine.Store(), http.NotFoundHandler())}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) }) // ends with Close
	running.Go(func() {
		if _, err := engine.Run(ctx, t.Context()); err != nil {
			t.Error(err)
		}
	})
	for engine.Status().Pages < 3 {
		if _, _, err := engine.Add([]weburl.URL{u}); err != nil {
			t.Fatal(err)
		}
	}
	disk.Take()
	for _, path := range []string{"/a.html", "/b.html", "/"} { // something to do meanwhile
		page, err := weburl.Parse("http://site.test" + path)
		if err := errors.Join(err, engine.Recrawl(page)); err != nil {
			t.Fatal(err)
		}
	}
	done, err := askSnapshot(t.Context(), data, "copy", io.Discard)
	cuts := disk.Take()
	stop()
	if err := errors.Join(err, server.Close()); err != nil || !done {
		t.Errorf("the snapshot: %v, %v", done, err)
	}
	running.Wait()
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
	whole := 0
	for i, cut := range append(cuts, powercut.Cut{Disk: memory}) {
		checkStored(t, cut.Disk, "data")
		if _, err := cut.Disk.Stat("copy"); err != nil {
			s := openMem(t, cut.Disk, "data")
			if err := errors.Join(transfer.Snapshot(t.Context(), s, "copy"), s.Close()); err != nil {
				t.Errorf("a snapshot after the crash: %v", err)
			}
		} else {
			whole++
		}
		if err := transfer.Restore(cut.Disk, "copy", "restored"); err != nil {
			t.Errorf("restore: %v", err)
		} else {
			checkStored(t, cut.Disk, "restored")
		}
		if t.Failed() {
			t.Fatalf("after cut %d of %d", i, len(cuts))
		}
	}
	if t.Logf("%d cuts, after %d of them the snapshot was there", len(cuts), whole); len(cuts) < 20 || whole == 0 {
		t.Error("too few cuts")
	}
}

func openMem(t *testing.T, disk vfs.FS, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(dir, store.Options{FS: disk})
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	return s
}

// checkStored opens a directory, which must have pages and no fault.
func checkStored(t *testing.T, disk vfs.FS, dir string) {
	t.Helper()
	s := openMem(t, disk, dir)
	total, err := s.Total()
	if err != nil || total.Versions < 3 {
		t.Errorf("%s: %d versions, %v: want the three that were stored before", dir, total.Versions, err)
	}
	err = repair.Verify(t.Context(), s, func(p store.Problem) { t.Errorf("%s: %v", dir, p) })
	if err := errors.Join(err, s.Close()); err != nil {
		t.Error(err)
	}
}
