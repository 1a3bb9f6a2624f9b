package node

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"

	"freshet/store"
	"freshet/weburl"
)

// keyValues returns all keys and values of a database but the directory's own (the heartbeat).
func keyValues(t *testing.T, fs vfs.FS, dir string) map[string]string {
	t.Helper()
	db, err := pebble.Open(dir, &pebble.Options{FS: fs, ReadOnly: true, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	it, err := db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	all := map[string]string{}
	for it.First(); it.Valid(); it.Next() {
		if key := it.Key(); len(key) > 1 && key[1] != 0 {
			all[fmt.Sprintf("%x", key)] = fmt.Sprintf("%x", it.Value())
		}
	}
	return all
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

var crashStride = flag.Int("crash-stride", 1, "look at every n-th cut of TestCrashAtEveryWrite")

// TestCrashAtEveryWrite cuts the power after every write, sync, creation, renaming and removal of a crawl: WARC files,
// database and seen set together. Everything that was not synced is lost. The rest must verify, go on, and come to the
// same pages. The crawl may repeat only the pages of one group and those in flight.
func TestCrashAtEveryWrite(t *testing.T) {
	crashAtEveryWrite(t, *crashStride, 1, 1)
}

// TestCrashOfShards cuts the power of a crawl by two shards now and then, and goes on with three.
func TestCrashOfShards(t *testing.T) {
	crashAtEveryWrite(t, 9**crashStride, 2, 3)
}

// crashAtEveryWrite cuts the power of a crawl by some shards after every n-th change of the disk, and goes on with
// others.
func crashAtEveryWrite(t *testing.T, stride, shards, then int) {
	web := newTestWeb(t, 3, 40)
	disk := vfs.NewCrashableMem()
	cuts := make(chan *vfs.MemFS)
	var op, taken atomic.Int64
	injector := errorfs.InjectorFunc(func(o errorfs.Op) error {
		if changesDisk(o.Kind) && op.Add(1)%int64(stride) == 0 {
			taken.Add(1)
			cuts <- disk.CrashClone(vfs.CrashCloneCfg{})
		}
		return nil
	})
	o := web.options(t, errorfs.Wrap(disk, injector), "data")
	o.Shards = shards
	var checkers sync.WaitGroup
	for range 2 {
		checkers.Go(func() {
			for cut := range cuts {
				checkCut(t, web, cut, func(o *Options) { o.Shards = then })
			}
		})
	}
	run(t, o)
	close(cuts)
	checkers.Wait()
	t.Logf("%d operations, %d cuts", op.Load(), taken.Load())
	if diff := cmp.Diff(web.want(), stored(t, o)); diff != "" {
		t.Errorf("undisturbed crawl (-want +got):\n%s", diff)
	}
}

// changesDisk reports whether an operation changes what a crash leaves.
func changesDisk(k errorfs.OpKind) bool {
	switch k {
	case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo,
		errorfs.OpCreate, errorfs.OpRename, errorfs.OpRemove, errorfs.OpMkdirAll, errorfs.OpLink, errorfs.OpReuseForWrite:
		return true
	}
	return false
}

// checkCut opens and verifies what a crash left, and finishes the crawl with other options. The crawl must not repeat
// a page that was done.
func checkCut(t *testing.T, web *testWeb, disk *vfs.MemFS, set func(*Options)) {
	o := web.options(t, disk, "data")
	set(&o)
	before := map[string]uint32{}
	if hasDatabase(t, o) {
		verify(t, o)
		before = visits(t, o)
	}
	run(t, o)
	verify(t, o)
	if diff := cmp.Diff(web.want(), stored(t, o)); diff != "" {
		t.Errorf("after a crash (-want +got):\n%s", diff)
	}
	after := visits(t, o)
	for url, n := range before {
		if after[url] != n {
			t.Errorf("%s was done with %d visits and has %d after a restart", url, n, after[url])
		}
	}
}

// hasDatabase reports whether the crash came after the directory was made: until then there is nothing
// that could be lost.
func hasDatabase(t *testing.T, o Options) bool {
	names, err := o.FS.List(o.FS.PathJoin(o.Dir, "db"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "marker.manifest") })
}

// visits returns the number of visits of each page that was done.
func visits(t *testing.T, o Options) map[string]uint32 {
	t.Helper()
	s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pages := map[string]uint32{}
	for p := range s.Partitions() {
		for row, err := range s.Pages(weburl.Partition(p)) {
			if err != nil {
				t.Fatal(err)
			}
			if row.Visits > 0 {
				pages[row.URL.String()] = row.Visits
			}
		}
	}
	return pages
}
