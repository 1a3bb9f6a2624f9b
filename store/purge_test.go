package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"freshet/internal/powercut"
	"freshet/internal/remains"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// secret is what a page of these tests says and nothing else does: in its body, which WARC files hold
// compressed, and in what its rows and records hold as it is.
const secret = "quagmire-7713"

// secretAnswer is an answer that has the secret in every place that may hold a page's words.
func secretAnswer(t testing.TB, u weburl.URL, minutes int, text string) Fetch {
	f := answer(t, u, minutes, "<p>"+secret+" "+text+"</p>")
	r := f.Record.(*Fetched)
	r.ETag, r.Charset, r.RetryAt = secret, secret, at(minutes+60)
	links := []OutLink{{URL: parse(t, "http://elsewhere.test/"+secret), Rel: weburl.RelAnchor}}
	for n := range 200 * (minutes % 2) { // enough to be compressed
		links = append(links, OutLink{URL: parse(t, fmt.Sprintf("http://elsewhere.test/%d", n)), Rel: weburl.RelAnchor})
	}
	r.Links = EncodeLinks(links)
	return f
}

// secretWeb crawls a site whose pages are to be purged and one whose pages are not, in WARC files of a
// few captures; some of the captures are of visits long folded.
func secretWeb(t testing.TB, s *Store) {
	t.Helper()
	bad, worse := parse(t, "http://bad.test/page"), parse(t, "http://bad.test/other")
	for minute := range 70 {
		good := parse(t, fmt.Sprintf("http://good.test/%d", minute%7))
		commitPages(t, s, secretAnswer(t, bad, 2*minute, fmt.Sprint(minute)), answer(t, good, 2*minute, fmt.Sprint("good ", minute)))
	}
	commitPages(t, s, secretAnswer(t, worse, 200, "other"))
	robots := answer(t, bad.Site().Root(), 201, "User-agent: *\n# "+secret)
	robots.Record = &Robots{Site: bad.Site(), At: at(201), Outcome: OutcomeStored, Status: 200, Body: []byte("# " + secret), Keep: true}
	commitPages(t, s, robots)
}

// filesWithSecret returns the files of a disk in which the secret can be found, however it is packed.
func filesWithSecret(t testing.TB, disk vfs.FS, dir string) (found []string) {
	t.Helper()
	found, err := remains.Find(disk, dir, secret)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func purgeOptions(disk vfs.FS) Options {
	o := testOptions(disk)
	o.WARC.MaxBytes = 8 << 10
	return o
}

// TestTakeDown takes down a page, then its site. What they said is in no file of the directory any more,
// while everything else is as it was, and neither can come back.
func TestTakeDown(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, purgeOptions(disk))
	secretWeb(t, s)
	if len(filesWithSecret(t, disk, "data")) < 3 {
		t.Fatal("the test's pages are not where they are looked for")
	}
	bad, worse := parse(t, "http://bad.test/page"), parse(t, "http://bad.test/other")
	ctx := context.Background()
	report, err := s.Purge(ctx, begin, Target{URL: bad})
	if err != nil || report.Files == 0 || report.FreedBytes <= 0 {
		t.Fatalf("purge of a page: %+v, %v", report, err)
	}
	verify(t, s)
	if page, _, err := s.PageOf(bad); err != nil || page.State != StatePurged || page.ETag != "" {
		t.Errorf("row of the purged page: %+v, %v", page, err)
	}
	if page, fp, err := s.PageOf(worse); err != nil || page.State != StateLive {
		t.Errorf("row of its neighbour: %+v, %v", page, err)
	} else if v, err := s.Version(home(worse), fp, 1); err != nil {
		t.Error(err)
	} else if _, err := s.Body(v.Capture); err != nil {
		t.Errorf("body of its neighbour: %v", err)
	}

	if report, err = s.Purge(ctx, begin, Target{Site: bad.Site()}); err != nil || len(report.Targets) != 1 {
		t.Fatalf("purge of a site: %+v, %v", report, err)
	}
	if found := filesWithSecret(t, disk, "data"); len(found) > 0 {
		t.Errorf("what was purged is still in %q", found)
	}
	verify(t, s)

	// Nothing brings them back: a fetch that was under way, a link, a plan.
	commitPages(t, s, secretAnswer(t, bad, 300, "again"), secretAnswer(t, parse(t, "http://bad.test/new"), 301, "new"))
	discover(t, s, "http://bad.test/newer")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found := filesWithSecret(t, disk, "data"); len(found) > 0 {
		t.Errorf("what was purged came back into %q", found)
	}
	s = openTest(t, purgeOptions(disk))
	verify(t, s)
	kinds := map[ChangeKind]int{}
	changes, err := s.Changes(home(bad), 0, 100)
	for _, c := range changes {
		if c.URL.Site() == bad.Site() {
			kinds[c.Kind]++
		}
	}
	if err != nil || kinds[ChangePurged] != 2 || len(kinds) != 1 {
		t.Errorf("changes of the site: %v, %v: want two pages purged", kinds, err)
	}
	if _, _, err := s.PageOf(parse(t, "http://bad.test/newer")); err == nil {
		t.Error("a new page of a purged site was let in")
	}
}

// busy has a crawl go on while its WARC files are read: it begins a file when the first is opened, and ends
// it when it is about to be opened itself.
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
	s := openTest(t, purgeOptions(errorfs.Wrap(disk, b)))
	secretWeb(t, s)
	b.begin = func() { commitPages(t, s, answer(t, parse(t, "http://good.test/1"), 300, "meanwhile")) }
	b.end = func() {
		if err := s.endFile(); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Purge(context.Background(), begin, Target{Site: "http://bad.test"}); err != nil || b.ended == 0 {
		t.Fatalf("purge: %v; %d files ended", err, b.ended)
	}
	if found := filesWithSecret(t, disk, "data"); len(found) > 0 {
		t.Errorf("what was purged is still in %q", found)
	}
	verify(t, s)
}

// TestTakeDownUnknown holds that a page can be taken down before it is known.
func TestTakeDownUnknown(t *testing.T) {
	s := openTest(t, testOptions(vfs.NewMem()))
	u := parse(t, "http://page.test/x")
	if _, err := s.Purge(context.Background(), begin, Target{URL: u}); err != nil {
		t.Fatal(err)
	}
	discover(t, s, u.String())
	if page, _, err := s.PageOf(u); err != nil || page.State != StatePurged || page.Queue != NoQueue {
		t.Errorf("row: %+v, %v", page, err)
	}
	verify(t, s)
}

// TestTakeDownCrash cuts a purge before every third change of the disk. After each cut the next opening and FinishPurges complete it; before it began, nothing is lost.
func TestTakeDownCrash(t *testing.T) {
	disk := powercut.Watch(vfs.NewCrashableMem(), 0)
	s := openTest(t, purgeOptions(disk))
	secretWeb(t, s)
	bad := parse(t, "http://bad.test/page")
	disk.Take()
	if _, err := s.Purge(context.Background(), begin, Target{Site: bad.Site()}); err != nil {
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
		after := openTest(t, purgeOptions(cut.Disk))
		verify(t, after)
		report, err := after.FinishPurges(context.Background())
		if err != nil {
			t.Fatalf("cut %d, before %s: %v", i, cut.Before, err)
		}
		verify(t, after)
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
		for page, err := range after.Pages(home(parse(t, "http://good.test/"))) {
			if err != nil || page.URL.Site() != "http://good.test" {
				continue
			}
			versions, err := after.Versions(home(page.URL), page.Fingerprint)
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
