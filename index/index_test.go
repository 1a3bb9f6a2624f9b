package index_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2"
	"go.uber.org/goleak"

	"freshet/clock"
	"freshet/feed"
	"freshet/index"
	"freshet/internal/crawled"
	"freshet/weburl"
)

// TestMain holds that nothing is left running but the workers that Bleve starts with the program, and batches that wait
// for a crashed Bleve.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"),
		goleak.IgnoreAnyFunction("github.com/blevesearch/bleve/v2/index/scorch.(*Scorch).prepareSegment"),
		// It waits for a lock that a goroutine which panicked has kept.
		goleak.IgnoreAnyFunction("github.com/blevesearch/bleve/v2/index/scorch.(*Scorch).AddEligibleForRemoval"))
}

func options(t *testing.T, w *crawled.Web) index.Options {
	return index.Options{Dir: filepath.Join(t.TempDir(), "index", "main"), Store: w.Store(), Bell: &w.Bell, Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler)}
}

func open(t *testing.T, o index.Options) *index.Index {
	t.Helper()
	x, err := index.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// found returns the URLs that match a query, sorted.
func found(t *testing.T, x *index.Index, q index.Query) (urls []string) {
	t.Helper()
	q.Limit = 50
	found, err := x.Search(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, hit := range found.Hits {
		urls = append(urls, hit.Page.URL.String())
	}
	slices.Sort(urls)
	return urls
}

func want(t *testing.T, got []string, urls ...string) {
	t.Helper()
	if slices.Sort(urls); !slices.Equal(got, urls) {
		t.Errorf("got %v\nwant %v", got, urls)
	}
}

// TestIndexFollowsTheCrawl searches after each change of a page: it finds a new text, but not the old one or a page
// that is gone. A reopened index continues at its mark.
func TestIndexFollowsTheCrawl(t *testing.T) {
	w := crawled.New(t, 2, 4)
	o := options(t, w)
	x := open(t, o)
	catchUp := func() {
		t.Helper()
		if err := x.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	catchUp()
	want(t, found(t, x, index.Query{Words: "first page 2"}), crawled.URL(0, 2), crawled.URL(1, 2))
	want(t, found(t, x, index.Query{Words: `"page 2" first`, Site: weburl.Site("http://h1.test")}), crawled.URL(1, 2))
	want(t, found(t, x, index.Query{Words: `"2 page"`}))
	want(t, found(t, x, index.Query{Words: "page 2 -1"}), crawled.URL(0, 2))
	want(t, found(t, x, index.Query{Words: "page-2 & first -site-1"}), crawled.URL(0, 2))

	w.Set(crawled.URL(0, 1), "a zebra crosses")
	w.Visit(crawled.URL(0, 1))
	catchUp()
	want(t, found(t, x, index.Query{Words: "ZEBRA"}), crawled.URL(0, 1))
	want(t, found(t, x, index.Query{Words: `"page 1 of site 0"`}))

	w.Set(crawled.URL(0, 1), "")
	w.Visit(crawled.URL(0, 1))
	w.Visit(crawled.URL(0, 1))
	want(t, found(t, x, index.Query{Words: "zebra"})) // before the index has heard of it
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = open(t, o)
	w.Set(crawled.URL(1, 1), "a giraffe")
	w.Visit(crawled.URL(1, 1))
	catchUp()
	want(t, found(t, x, index.Query{Words: "zebra"}))
	want(t, found(t, x, index.Query{Words: "giraffe"}), crawled.URL(1, 1))
	want(t, found(t, x, index.Query{Words: "first text"}), crawled.URL(0, 0), crawled.URL(0, 2), crawled.URL(0, 3), crawled.URL(1, 0), crawled.URL(1, 2), crawled.URL(1, 3))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTitleAndText finds a page by a word of its title and one of its text, and shows only the text.
func TestTitleAndText(t *testing.T) {
	w := crawled.New(t, 1, 2)
	x := open(t, options(t, w))
	w.Set(crawled.URL(0, 0), "<title>An okapi</title><p>It lives in a forest.")
	w.Visit(crawled.URL(0, 0))
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	for words, snippet := range map[string]string{
		"okapi lives": "It «lives» in a forest.", `"an okapi" forest`: "It lives in a «forest».", "okapi": "It lives in a forest.",
		`"in a" -"a in" forest`: "It lives «in» «a» «forest».", `"a forest" "an okapi" a`: "It lives in «a» «forest».",
	} {
		found, err := x.Search(t.Context(), index.Query{Words: words, Limit: 2})
		hits := found.Hits
		if err != nil || len(hits) != 1 || hits[0].Snippet != snippet {
			t.Errorf("%s: %v, %v", words, hits, err)
		}
	}
	want(t, found(t, x, index.Query{Words: "lives -okapi"}))
	want(t, found(t, x, index.Query{Words: `lives -"an okapi"`}))
	want(t, found(t, x, index.Query{Words: `"okapi it"`}))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnippetOfWholeWords holds that a snippet from the middle of a text has no part of a word at its ends.
func TestSnippetOfWholeWords(t *testing.T) {
	w := crawled.New(t, 1, 1)
	x := open(t, options(t, w))
	text, words := strings.Builder{}, map[string]bool{"…": true, "«okapi»": true}
	for i := range 400 {
		word := fmt.Sprintf("w%s", strings.Repeat("a", i%17+1))
		words[word] = true
		text.WriteString(word + " ")
		if i == 200 {
			text.WriteString("okapi ")
		}
	}
	w.Set(crawled.URL(0, 0), "<p>"+text.String())
	w.Visit(crawled.URL(0, 0))
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := x.Search(t.Context(), index.Query{Words: "okapi", Limit: 1})
	hits := found.Hits
	if err != nil || len(hits) != 1 || !strings.HasPrefix(hits[0].Snippet, "… ") || !strings.HasSuffix(hits[0].Snippet, " …") {
		t.Fatalf("%v, %v", hits, err)
	}
	for word := range strings.FieldsSeq(hits[0].Snippet) {
		if !words[word] {
			t.Errorf("%q is no word of the text, in %s", word, hits[0].Snippet)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLongQuery holds that a query has a bounded number of words, in phrases too.
func TestLongQuery(t *testing.T) {
	x := open(t, options(t, crawled.New(t, 1, 1)))
	for _, words := range []string{strings.Repeat("a b ", 17), `"` + strings.Repeat("a b ", 17) + `"`, "x -" + strings.Repeat("a-b-", 17) + "c"} {
		if _, err := x.Search(t.Context(), index.Query{Words: words, Limit: 1}); !errors.Is(err, index.ErrQuery) {
			t.Errorf("%.20s…: %v", words, err)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLongTitle holds that a title of any length costs the index and its answers little.
func TestLongTitle(t *testing.T) {
	w := crawled.New(t, 1, 1)
	x := open(t, options(t, w))
	w.Set(crawled.URL(0, 0), "<title>"+strings.Repeat("é", 64<<10)+"</title><p>an okapi")
	w.Visit(crawled.URL(0, 0))
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := x.Search(t.Context(), index.Query{Words: "okapi", Limit: 1})
	hits := found.Hits
	if err != nil || len(hits) != 1 {
		t.Fatalf("%d hits, %v", len(hits), err)
	}
	if title := hits[0].Title; len(title) < 1000 || len(title) > 1<<10 || !utf8.ValidString(title) {
		t.Errorf("a title of %d bytes", len(title))
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFolderIsDeleted deletes the folder of an index that is open, as a purge does: it is rebuilt.
func TestFolderIsDeleted(t *testing.T) {
	w := crawled.New(t, 1, 3)
	o := options(t, w)
	x := open(t, o)
	catchUp := func() {
		t.Helper()
		if err := x.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	catchUp()
	if err := os.RemoveAll(filepath.Dir(o.Dir)); err != nil {
		t.Fatal(err)
	}
	w.Set(crawled.URL(0, 1), "a zebra crosses")
	w.Visit(crawled.URL(0, 1))
	catchUp()
	want(t, found(t, x, index.Query{Words: "zebra"}), crawled.URL(0, 1))
	want(t, found(t, x, index.Query{Words: "page 2"}), crawled.URL(0, 2))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = open(t, o)
	want(t, found(t, x, index.Query{Words: "page 2"}), crawled.URL(0, 2))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedIndex opens an index whose files are damaged: it is rebuilt. One that cannot be read now is left alone.
func TestDamagedIndex(t *testing.T) {
	w := crawled.New(t, 1, 3)
	o := options(t, w)
	x := open(t, o)
	if err := errors.Join(x.CatchUp(t.Context()), x.Close()); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(o.Dir, "store", "root.bolt")
	if err := os.WriteFile(root, []byte("not a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	x = open(t, o)
	want(t, found(t, x, index.Query{Words: "page 2"}))
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, found(t, x, index.Query{Words: "page 2"}), crawled.URL(0, 2))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(root), os.Symlink(root, root)); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Open(o); err == nil {
		t.Error("opened, though a file cannot be read")
	}
	if _, err := os.Lstat(root); err != nil {
		t.Errorf("it was thrown away: %v", err)
	}
}

func TestQueriesThatSayNothing(t *testing.T) {
	w := crawled.New(t, 1, 1)
	x := open(t, options(t, w))
	defer x.Close()
	for _, words := range []string{"", "-only", `""`, string(slices.Repeat([]byte("a "), 33))} {
		if _, err := x.Search(t.Context(), index.Query{Words: words, Limit: 1}); err == nil {
			t.Errorf("%q is taken", words)
		}
	}
}

func TestNoIndex(t *testing.T) {
	w := crawled.New(t, 1, 1)
	if _, err := index.OpenToSearch(options(t, w)); err == nil {
		t.Error("opened")
	}
}

// TestCaptureOutOfReach holds that an index keeps its pages while their captures cannot be read, as when an object
// store is down, or when the program ends at that moment. It takes them when they can be read again.
func TestCaptureOutOfReach(t *testing.T) {
	w := crawled.New(t, 1, 3)
	x := open(t, options(t, w))
	t.Cleanup(func() { _ = x.Close() })
	all := []string{crawled.URL(0, 0), crawled.URL(0, 1), crawled.URL(0, 2)}
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Set(crawled.URL(0, 1), "first text of a zebra")
	w.Visit(crawled.URL(0, 1))
	w.Fail(errors.New("no answer"))
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, found(t, x, index.Query{Words: "first text"}), all...)
	w.Fail(nil)
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, found(t, x, index.Query{Words: "zebra"}), crawled.URL(0, 1))
	want(t, found(t, x, index.Query{Words: "first text"}), all...)
}

// TestOneDamagedBlock holds that a page whose bytes are lost costs no other page its place in the index, that it is
// warned of once with what to do, and that its next version is found.
func TestOneDamagedBlock(t *testing.T) {
	w := crawled.New(t, 1, 3)
	lost := crawled.URL(0, 1)
	w.Lose(lost)
	warned := make(crawled.Warnings, 100)
	o := options(t, w)
	o.Logger = slog.New(slog.NewTextHandler(warned, nil))
	x := open(t, o)
	t.Cleanup(func() { _ = x.Close() })
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, found(t, x, index.Query{Words: "first text"}), crawled.URL(0, 0), crawled.URL(0, 2))
	if len(warned) != 1 {
		t.Fatalf("%d warnings, want one", len(warned))
	}
	if said := <-warned; !strings.Contains(said, lost) || !strings.Contains(said, "input/output error") || !strings.Contains(said, "freshet verify --repair") {
		t.Errorf("it warns: %s", said)
	}
	w.Set(lost, "a zebra")
	w.Visit(lost)
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, found(t, x, index.Query{Words: "zebra"}), lost)
}

// TestMarkIsAhead holds that an index whose mark is ahead of its node, as after a power cut, keeps its pages and waits
// until the node of the cluster has read the others' log again.
func TestMarkIsAhead(t *testing.T) {
	_, other, l := crawled.TwoNodes(t, 1)
	warned, ahead := make(crawled.Warnings, 100), feed.Cursor{1}.String()
	o := index.Options{
		Dir: filepath.Join(t.TempDir(), "index"), Store: other, Bell: new(feed.Bell), Clock: clock.New(time.Unix(1.8e9, 0), 10_000),
		Logger: slog.New(slog.NewTextHandler(warned, nil)),
	}
	mark := func() string {
		opened, err := bleve.Open(o.Dir)
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		found, err := opened.GetInternal([]byte("freshet-mark"))
		if err == nil && len(found) == 0 {
			err = opened.SetInternal([]byte("freshet-mark"), []byte(ahead))
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(found)
	}
	if err := open(t, o).Close(); err != nil {
		t.Fatal(err)
	}
	mark()
	x := open(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- x.Run(ctx) }()
	for range 2 {
		select {
		case <-warned:
		case err := <-ended:
			t.Fatalf("it ends: %v", err)
		}
	}
	if _, err := other.Follow(0, *l...); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for len(warned) > 0 {
		<-warned
	}
	if err := x.CatchUp(t.Context()); err != nil || len(warned) > 0 {
		t.Errorf("%v, with %d warnings", err, len(warned))
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if found := mark(); found != ahead {
		t.Errorf("its mark is %s, want %s", found, ahead)
	}
}
