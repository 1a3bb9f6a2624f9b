package retain_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"freshet/internal/powercut"
	"freshet/internal/remains"
	"freshet/store"
	"freshet/store/internal/format"
	"freshet/store/internal/storetest"
	"freshet/store/retain"
	"freshet/weburl"
)

// secret is in the pages of these tests and nowhere else: compressed in the bodies in WARC files, and plain in rows
// and records.
const secret = "quagmire-7713"

// secretAnswer is an answer that has the secret in every place that may hold a page's words.
func secretAnswer(t testing.TB, u weburl.URL, minutes int, text string) store.Fetch {
	f := storetest.Answer(t, u, minutes, "<p>"+secret+" "+text+"</p>")
	r := f.Record.(*store.Fetched)
	r.ETag, r.Charset, r.RetryAt = secret, secret, storetest.At(minutes+60)
	links := []store.OutLink{{URL: storetest.Parse(t, "http://elsewhere.test/"+secret), Rel: weburl.RelAnchor}}
	for n := range 200 * (minutes % 2) { // enough to be compressed
		links = append(links, store.OutLink{URL: storetest.Parse(t, fmt.Sprintf("http://elsewhere.test/%d", n)), Rel: weburl.RelAnchor})
	}
	r.Links = store.EncodeLinks(links)
	return f
}

// secretWeb crawls a site with pages to purge and a site without, in WARC files of a few captures. Some captures are
// of visits folded long ago.
func secretWeb(t testing.TB, s *store.Store) {
	t.Helper()
	bad, worse := storetest.Parse(t, "http://bad.test/page"), storetest.Parse(t, "http://bad.test/other")
	for minute := range 70 {
		good := storetest.Parse(t, fmt.Sprintf("http://good.test/%d", minute%7))
		storetest.Commit(t, s, secretAnswer(t, bad, 2*minute, fmt.Sprint(minute)), storetest.Answer(t, good, 2*minute, fmt.Sprint("good ", minute)))
	}
	storetest.Commit(t, s, secretAnswer(t, worse, 200, "other"))
	robots := storetest.Answer(t, bad.Site().Root(), 201, "User-agent: *\n# "+secret)
	robots.Record = &store.Robots{Site: bad.Site(), At: storetest.At(201), Outcome: store.OutcomeStored, Status: 200, Body: []byte("# " + secret), Keep: true}
	storetest.Commit(t, s, robots)
}

// filesWithSecret returns the files of a disk that contain the secret, however packed.
func filesWithSecret(t testing.TB, disk vfs.FS, dir string) (found []string) {
	t.Helper()
	found, err := remains.Find(disk, dir, secret)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func purgeOptions(disk vfs.FS) store.Options {
	o := storetest.Options(disk)
	o.WARC.MaxBytes = 8 << 10
	return o
}

// TestTakeDown takes down a page, then its site. No file of the directory has their words any more, everything else is
// unchanged, and neither can come back.
func TestTakeDown(t *testing.T) {
	disk := vfs.NewMem()
	s := storetest.Open(t, purgeOptions(disk))
	secretWeb(t, s)
	if len(filesWithSecret(t, disk, "data")) < 3 {
		t.Fatal("the test's pages are not where they are looked for")
	}
	bad, worse := storetest.Parse(t, "http://bad.test/page"), storetest.Parse(t, "http://bad.test/other")
	ctx := context.Background()
	report, err := retain.Purge(ctx, s, storetest.Begin, store.Target{URL: bad})
	if err != nil || report.Files == 0 || report.FreedBytes <= 0 {
		t.Fatalf("purge of a page: %+v, %v", report, err)
	}
	storetest.Verify(t, s)
	if page, _, err := s.PageOf(bad); err != nil || page.State != store.StatePurged || page.ETag != "" {
		t.Errorf("row of the purged page: %+v, %v", page, err)
	}
	if page, fp, err := s.PageOf(worse); err != nil || page.State != store.StateLive {
		t.Errorf("row of its neighbour: %+v, %v", page, err)
	} else if v, err := s.Version(storetest.Home(worse), fp, 1); err != nil {
		t.Error(err)
	} else if _, err := s.Body(v.Capture); err != nil {
		t.Errorf("body of its neighbour: %v", err)
	}

	if report, err = retain.Purge(ctx, s, storetest.Begin, store.Target{Site: bad.Site()}); err != nil || len(report.Targets) != 1 {
		t.Fatalf("purge of a site: %+v, %v", report, err)
	}
	if found := filesWithSecret(t, disk, "data"); len(found) > 0 {
		t.Errorf("what was purged is still in %q", found)
	}
	storetest.Verify(t, s)

	// Nothing brings them back: a fetch that was under way, a link, a plan.
	storetest.Commit(t, s, secretAnswer(t, bad, 300, "again"), secretAnswer(t, storetest.Parse(t, "http://bad.test/new"), 301, "new"))
	storetest.Discover(t, s, "http://bad.test/newer")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found := filesWithSecret(t, disk, "data"); len(found) > 0 {
		t.Errorf("what was purged came back into %q", found)
	}
	s = storetest.Open(t, purgeOptions(disk))
	storetest.Verify(t, s)
	kinds := map[store.ChangeKind]int{}
	changes, err := s.Changes(storetest.Home(bad), 0, 100)
	for _, c := range changes {
		if c.URL.Site() == bad.Site() {
			kinds[c.Kind]++
		}
	}
	if err != nil || kinds[store.ChangePurged] != 2 || len(kinds) != 1 {
		t.Errorf("changes of the site: %v, %v: want two pages purged", kinds, err)
	}
	if _, _, err := s.PageOf(storetest.Parse(t, "http://bad.test/newer")); err == nil {
		t.Error("a new page of a purged site was let in")
	}
}

// busy has a crawl go on while a program reads its WARC files. The crawl begins a file when the program opens the
// first one, and ends that file when the program is about to open it.
type busy struct {
	begin, end   func()
	begun, ended int
}

func (b *busy) MaybeError(op errorfs.Op) error {
	switch {
	case op.Kind != errorfs.OpOpen || !strings.Contains(op.Path, format.CapturesDir) || b.begin == nil:
	case strings.HasSuffix(op.Path, ".warc.gz") && b.begun == 0:
		b.begun++
		b.begin()
	case strings.HasSuffix(op.Path, ".open"):
		b.ended++
		b.end()
	}
	return nil
}

func (b *busy) String() string { return "busy" }

// TestTakeDownWhileFilesEnd takes a site down while the crawl begins a file and ends it.
func TestTakeDownWhileFilesEnd(t *testing.T) {
	disk, b := vfs.NewMem(), &busy{}
	s := storetest.Open(t, purgeOptions(errorfs.Wrap(disk, b)))
	secretWeb(t, s)
	b.begin = func() {
		storetest.Commit(t, s, storetest.Answer(t, storetest.Parse(t, "http://good.test/1"), 300, "meanwhile"))
	}
	b.end = func() {
		if err := s.Inside().EndFile(); err != nil {
			t.Error(err)
		}
	}
	if _, err := retain.Purge(context.Background(), s, storetest.Begin, store.Target{Site: "http://bad.test"}); err != nil || b.ended == 0 {
		t.Fatalf("purge: %v; %d files ended", err, b.ended)
	}
	if found := filesWithSecret(t, disk, "data"); len(found) > 0 {
		t.Errorf("what was purged is still in %q", found)
	}
	storetest.Verify(t, s)
}

// TestTakeDownUnknown holds that an operator can take down a page before the crawl knows it.
func TestTakeDownUnknown(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	u := storetest.Parse(t, "http://page.test/x")
	if _, err := retain.Purge(context.Background(), s, storetest.Begin, store.Target{URL: u}); err != nil {
		t.Fatal(err)
	}
	storetest.Discover(t, s, u.String())
	if page, _, err := s.PageOf(u); err != nil || page.State != store.StatePurged || page.Queue != store.NoQueue {
		t.Errorf("row: %+v, %v", page, err)
	}
	storetest.Verify(t, s)
}

// TestTakeDownCrash cuts a purge before every third change of the disk. After each cut the next opening and
// FinishPurges complete it; before it began, nothing is lost.
func TestTakeDownCrash(t *testing.T) {
	disk := powercut.Watch(vfs.NewCrashableMem(), 0)
	s := storetest.Open(t, purgeOptions(disk))
	secretWeb(t, s)
	bad := storetest.Parse(t, "http://bad.test/page")
	disk.Take()
	if _, err := retain.Purge(context.Background(), s, storetest.Begin, store.Target{Site: bad.Site()}); err != nil {
		t.Fatal(err)
	}
	cuts := disk.Take()
	if len(cuts) < 50 {
		t.Errorf("%d cuts: want fifty at least", len(cuts))
	}
	begun := 0
	for i, cut := range cuts {
		if i%3 != 0 || testing.Short() && i%21 != 0 {
			continue
		}
		after := storetest.Open(t, purgeOptions(cut.Disk))
		storetest.Verify(t, after)
		report, err := retain.FinishPurges(context.Background(), after)
		if err != nil {
			t.Fatalf("cut %d, before %s: %v", i, cut.Before, err)
		}
		storetest.Verify(t, after)
		site, err := after.Site(bad.Site())
		if err != nil {
			t.Fatal(err)
		}
		if site.Purged {
			begun++
			if found := filesWithSecret(t, cut.Disk, "data"); len(found) > 0 {
				t.Errorf("cut %d, before %s: purged %q, and still in %q", i, cut.Before, report.Targets, found)
			}
		}
		for page, err := range after.Pages(storetest.Home(storetest.Parse(t, "http://good.test/"))) {
			if err != nil || page.URL.Site() != "http://good.test" {
				continue
			}
			versions, err := after.Versions(storetest.Home(page.URL), page.Fingerprint)
			if err != nil || len(versions) == 0 {
				t.Errorf("%s: %d versions, %v", page.URL, len(versions), err)
			}
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.Fatalf("after cut %d, before %s", i, cut.Before)
		}
	}
	t.Logf("%d cuts, %d of them after the purge had begun", len(cuts), begun)
}
