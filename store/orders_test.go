package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/internal/format"
	"freshet/weburl"
)

// ordered returns the disk of a directory in which a page and a site were taken down, a site paused and a host
// blocked, and what it was before the orders.
func ordered(t *testing.T) (before, after *vfs.MemFS) {
	t.Helper()
	disk := vfs.NewCrashableMem()
	s := openTest(t, testOptions(disk))
	discover(t, s, "http://a.test/1", "http://a.test/2", "http://b.test/", "http://c.test/")
	commitPages(t, s, answer(t, parse(t, "http://a.test/1"), 1, "one"), answer(t, parse(t, "http://b.test/"), 2, "two"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before = disk.CrashClone(vfs.CrashCloneCfg{})
	s = openTest(t, testOptions(disk))
	c := parse(t, "http://c.test/")
	_, err1 := s.Purge(context.Background(), time.Unix(0, at(3)), Target{URL: parse(t, "http://a.test/1")}, Target{Site: "http://b.test"})
	_, err2 := s.Apply(&Paused{Partition: home(c), Site: c.Site(), Since: at(4)})
	_, err3 := s.Apply(&Gated{Partition: home(c), Host: "c.test", Gate: Gate{Blocked: at(90)}})
	if err := errors.Join(err1, err2, err3, s.Close()); err != nil {
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
				s := openTest(t, testOptions(disk))
				if page, _, err := s.PageOf(parse(t, "http://a.test/1")); err != nil || page.State != StatePurged {
					t.Errorf("page: %v, %v", page.State, err)
				}
				if row, err := s.Site("http://b.test"); err != nil || !row.Purged {
					t.Errorf("site: %+v, %v", row, err)
				}
				if row, err := s.Site("http://c.test"); err != nil || row.Paused != at(4) {
					t.Errorf("paused site: %+v, %v", row, err)
				}
				if gate, err := s.Gate(weburl.Site("http://c.test").Partition(testPartitions), "c.test"); err != nil || gate.Blocked != at(90) {
					t.Errorf("gate: %+v, %v", gate, err)
				}
				if _, err := s.FinishPurges(context.Background()); err != nil {
					t.Error(err)
				}
				verify(t, s)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			if all, faults, err := readOrders(disk, "data"); err != nil || len(all) != 4 || len(faults) > 0 {
				t.Errorf("orders %v, %v, %v", all, faults, err)
			}
		})
	}
}
