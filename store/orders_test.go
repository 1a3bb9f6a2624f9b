package store_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/internal/format"
	"freshet/store/internal/storetest"
	"freshet/store/retain"
	"freshet/weburl"
)

// ordered returns the disk of a directory before and after some orders. The orders take down a page and a site, pause
// and pace a site, and block a host.
func ordered(t *testing.T) (before, after *vfs.MemFS) {
	t.Helper()
	disk := vfs.NewCrashableMem()
	s := storetest.Open(t, storetest.Options(disk))
	storetest.Discover(t, s, "http://a.test/1", "http://a.test/2", "http://b.test/", "http://c.test/")
	storetest.Commit(t, s, storetest.Answer(t, storetest.Parse(t, "http://a.test/1"), 1, "one"), storetest.Answer(t, storetest.Parse(t, "http://b.test/"), 2, "two"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before = disk.CrashClone(vfs.CrashCloneCfg{})
	s = storetest.Open(t, storetest.Options(disk))
	c := storetest.Parse(t, "http://c.test/")
	_, err1 := retain.Purge(context.Background(), s, time.Unix(0, storetest.At(3)), store.Target{URL: storetest.Parse(t, "http://a.test/1")}, store.Target{Site: "http://b.test"})
	_, err2 := s.Apply(&store.Paused{Partition: storetest.Home(c), Site: c.Site(), Since: storetest.At(4)})
	_, err4 := s.Apply(&store.Paced{Partition: storetest.Home(c), Site: c.Site(), Pace: store.Pace{Delay: 7, Budget: 8}})
	// A page of the host that was on its way is stored before the order, with the gate that the order has set.
	fetched := storetest.Answer(t, c, 3, "three")
	fetched.Record.(*store.Fetched).Gate = &store.Gate{Blocked: storetest.At(90)}
	storetest.Commit(t, s, fetched)
	_, err3 := s.Apply(&store.Gated{Partition: storetest.Home(c), Host: "c.test", Gate: store.Gate{Blocked: storetest.At(90)}})
	if err := errors.Join(err1, err2, err3, err4, s.Close()); err != nil {
		t.Fatal(err)
	}
	return before, disk
}

// TestOrdersOutliveTheDatabase puts an older copy of all but the orders back, with each damage to one of their files.
func TestOrdersOutliveTheDatabase(t *testing.T) {
	for _, damage := range []string{"none", "no copy", "no original", "cut", "older copy"} {
		t.Run(damage, func(t *testing.T) {
			disk, after := ordered(t)
			raw, err := format.ReadFile(after, "data/"+format.OrdersFile, 1<<20)
			if err != nil || len(raw) == 0 {
				t.Fatal(err)
			}
			first, second := raw, raw
			switch damage {
			case "no copy":
				second = nil
			case "no original":
				first = nil
			case "cut":
				first = raw[:len(raw)-10]
			case "older copy":
				second = raw[:0]
			}
			for name, content := range map[string][]byte{format.OrdersFile: first, format.OrdersCopy: second} {
				if content != nil {
					if err := format.WriteFile(disk, "data/"+name, content); err != nil {
						t.Fatal(err)
					}
				}
			}
			for range 2 { // the second opening does no more
				s := storetest.Open(t, storetest.Options(disk))
				if page, _, err := s.PageOf(storetest.Parse(t, "http://a.test/1")); err != nil || page.State != store.StatePurged {
					t.Errorf("page: %v, %v", page.State, err)
				}
				if row, err := s.Site("http://b.test"); err != nil || !row.Purged {
					t.Errorf("site: %+v, %v", row, err)
				}
				if row, err := s.Site("http://c.test"); err != nil || row.Paused != storetest.At(4) || row.Pace != (store.Pace{Delay: 7, Budget: 8}) {
					t.Errorf("paused and paced site: %+v, %v", row, err)
				}
				if gate, err := s.Gate(weburl.Site("http://c.test").Partition(storetest.Partitions), "c.test"); err != nil || gate.Blocked != storetest.At(90) {
					t.Errorf("gate: %+v, %v", gate, err)
				}
				if _, err := retain.FinishPurges(context.Background(), s); err != nil {
					t.Error(err)
				}
				storetest.Verify(t, s)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			for _, name := range []string{format.OrdersFile, format.OrdersCopy} {
				raw, err := format.ReadFile(disk, "data/"+name, 1<<20)
				if lines := bytes.Count(raw, []byte("\n")); err != nil || lines != 5 {
					t.Errorf("%s: %d orders, %v: want 5", name, lines, err)
				}
			}
			s := storetest.Open(t, storetest.Options(disk))
			if faults := s.Inside().Damage().Orders; len(faults) > 0 {
				t.Errorf("orders: %v", faults)
			}
		})
	}
}
