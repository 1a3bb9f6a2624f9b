package repair_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/internal/format"
	"freshet/store/internal/storetest"
	"freshet/store/repair"
)

// TestVerifyFinds damages a clean directory in one place at a time; Verify has to say where, and Repair to
// repair it so that nothing is found any more and the crawl goes on.
func TestVerifyFinds(t *testing.T) {
	u := storetest.Parse(t, "http://page.test/x")
	p, fp := storetest.Home(u), u.Fingerprint()
	edit := func(s *store.Store, do func(b *pebble.Batch) error) error {
		b := s.Inside().DB.NewBatch()
		return errors.Join(do(b), b.Commit(pebble.Sync))
	}
	rewrite := func(change func(page *store.Page)) func(s *store.Store) error {
		return func(s *store.Store) error {
			page, err := s.Page(p, fp)
			if err != nil {
				return err
			}
			change(&page)
			return edit(s, func(b *pebble.Batch) error {
				return b.Set(s.Inside().Keys.AppendPage(nil, p, format.KeyPage, fp), format.AppendValue(nil, &page), nil)
			})
		}
	}
	remove := func(key func(s *store.Store) []byte) func(s *store.Store) error {
		return func(s *store.Store) error {
			return edit(s, func(b *pebble.Batch) error { return b.Delete(key(s), nil) })
		}
	}
	tests := []struct {
		name   string
		damage func(s *store.Store) error
		want   string
	}{
		{"a lost row", remove(func(s *store.Store) []byte { return s.Inside().Keys.AppendPage(nil, p, format.KeyPage, fp) }), "which has no row"},
		{"a lost queue entry", remove(func(s *store.Store) []byte {
			page, _ := s.Page(p, fp)
			return s.Inside().Keys.AppendEntry(nil, p, page.Queue.KeyKind(), u.Site(), page.Key.Order, page.Key.Arrival)
		}), "not in the due queue"},
		{"another queue", rewrite(func(page *store.Page) { page.Key.Order++ }), "its row says"},
		{"a wrong state", rewrite(func(page *store.Page) { page.State = store.StateGone }), "totals"},
		{"a wrong number of visits", rewrite(func(page *store.Page) { page.Visits++ }), "visit 3 is missing"},
		{"a lost version", remove(func(s *store.Store) []byte { return s.Inside().Keys.AppendOfPage(nil, p, format.KeyVersion, fp, 1) }), "version 2: want 1"},
		{"a lost visit", remove(func(s *store.Store) []byte { return s.Inside().Keys.AppendOfPage(nil, p, format.KeyVisit, fp, 1) }), "visit 2: want 1"},
		{"a lost change entry", remove(func(s *store.Store) []byte {
			page, _ := s.Page(p, fp)
			return s.Inside().Keys.AppendNumber(nil, p, format.KeyChange, page.LastChange)
		}), "is missing"},
		{"a lost record", remove(func(s *store.Store) []byte { return s.Inside().Keys.AppendNumber(nil, p, format.KeyRecord, 2) }), "record 3: want 2"},
		{"a lost site", remove(func(s *store.Store) []byte {
			return s.Inside().Keys.AppendText(nil, p, format.KeySite, string(u.Site()))
		}), "sites with pages have no row"},
		{"a value that is none", func(s *store.Store) error {
			return edit(s, func(b *pebble.Batch) error {
				return b.Set(s.Inside().Keys.AppendPage(nil, p, format.KeyPage, fp), []byte{0xff}, nil)
			})
		}, "corrupt"},
		{"a lost file", func(s *store.Store) error {
			paths, err := s.Files()
			return errors.Join(err, s.Inside().FS.Remove(paths[0]))
		}, "does not exist"},
		{"a changed capture", func(s *store.Store) error {
			paths, err := s.Files()
			if err != nil {
				return err
			}
			f, err := s.Inside().FS.OpenReadWrite(paths[0], vfs.WriteCategoryUnspecified)
			if err != nil {
				return err
			}
			v, err := s.Version(p, fp, 1)
			_, werr := f.WriteAt([]byte("xxxx"), v.Capture.Offset+v.Capture.Length/2)
			return errors.Join(err, werr, f.Close())
		}, "corrupt"},
		{"a capture of another page", func(s *store.Store) error {
			v, err1 := s.Version(p, fp, 1)
			other, err2 := s.Version(p, storetest.Parse(t, "http://page.test/other").Fingerprint(), 1)
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			v.Capture = other.Capture
			return edit(s, func(b *pebble.Batch) error {
				return b.Set(s.Inside().Keys.AppendOfPage(nil, p, format.KeyVersion, fp, 1), format.AppendValue(nil, &v), nil)
			})
		}, "is of http://page.test/other"},
		{"a wrong digest", func(s *store.Store) error {
			v, err := s.Version(p, fp, 2)
			v.BodyDigest[0] ^= 1
			return errors.Join(err, edit(s, func(b *pebble.Batch) error {
				return b.Set(s.Inside().Keys.AppendOfPage(nil, p, format.KeyVersion, fp, 2), format.AppendValue(nil, &v), nil)
			}))
		}, "payload has digest"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			disk := vfs.NewMem()
			s := storetest.Open(t, storetest.Options(disk))
			storetest.Discover(t, s, u.String())
			second := storetest.Answer(t, u, 2, "two")
			second.Record.(*store.Fetched).RetryAt = storetest.At(9)
			storetest.Commit(t, s, storetest.Answer(t, u, 1, "one"), second, storetest.Answer(t, storetest.Parse(t, "http://page.test/other"), 3, "three"))
			storetest.Verify(t, s)
			if err := s.Close(); err != nil { // ends the WARC file
				t.Fatal(err)
			}
			s = storetest.Open(t, storetest.Options(disk))
			if err := test.damage(s); err != nil {
				t.Fatal(err)
			}
			var found []string
			if err := repair.Verify(context.Background(), s, func(p store.Problem) { found = append(found, p.String()) }); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(found, "\n"), test.want) {
				t.Errorf("problems %q: want one with %q", found, test.want)
			}
			var mended []string
			if err := repair.Repair(context.Background(), s, false, func(p store.Problem) { mended = append(mended, p.String()) }); err != nil || len(mended) == 0 {
				t.Fatalf("repair: %q, %v", mended, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = storetest.Open(t, storetest.Options(disk))
			storetest.Verify(t, s)
			if t.Failed() {
				t.Logf("repair said %q", mended)
			}
			storetest.Commit(t, s, storetest.Answer(t, u, 20, "again"))
			storetest.Verify(t, s)
		})
	}
}
