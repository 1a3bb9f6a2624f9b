package importer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/fetch"
	"freshet/store"
	"freshet/store/warc"
	"freshet/weburl"
)

func open(t *testing.T, fs vfs.FS) *store.Store {
	s, err := store.Open("data", store.Options{FS: fs, Partitions: 4})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sightings draws the lines of a list about few pages. Pages repeat, are new or visited, and are not always in order.
func sightings(t *testing.T, random *rand.Rand, n int) []Sighting {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	all := make([]Sighting, n)
	for i := range all {
		u, err := weburl.Parse(fmt.Sprintf("http://h%d.example/%d", random.IntN(5), random.IntN(20)))
		if err != nil {
			t.Fatal(err)
		}
		s := Sighting{URL: u, Status: 200}
		if random.IntN(3) > 0 {
			s.At = begin.Add(time.Duration(random.IntN(100)) * time.Hour)
		}
		if random.IntN(3) > 0 {
			s.Digest[0] = byte(1 + random.IntN(3))
		}
		if random.IntN(4) == 0 {
			s.Weight = random.Float64()
		}
		all[i] = s
	}
	return all
}

// TestBatches holds that the result of an import does not depend on its batches, and that an interrupted import can
// be repeated.
func TestBatches(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		list := sightings(t, random, 150)
		one, many := open(t, vfs.NewMem()), open(t, vfs.NewMem())
		flushed, batched := New(one), New(many)
		for _, s := range list {
			if err := flushed.Sight(s); err != nil {
				t.Fatal(err)
			}
			if err := flushed.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range list[:random.IntN(len(list))] { // of which the last batch is lost
			if err := batched.Sight(s); err != nil {
				t.Fatal(err)
			}
		}
		batched = New(many)
		for _, s := range list {
			if err := batched.Sight(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := batched.Flush(); err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			want, _, err := one.PageOf(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := many.PageOf(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			if got.LastFetched != want.LastFetched || got.Versions != want.Versions || got.BodyDigest != want.BodyDigest || got.State != want.State {
				t.Fatalf("seed %d, %s:\n%+v\nin batches, one by one\n%+v", seed, s.URL, got, want)
			}
		}
		for _, s := range []*store.Store{one, many} {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestNoSuchDate imports pages with dates that no count of nanoseconds since 1970 has. When they were seen is unknown.
func TestNoSuchDate(t *testing.T) {
	s := open(t, vfs.NewMem())
	i := New(s)
	for _, year := range []int{1, 1960, 2400, 9999} {
		u, err := weburl.Parse(fmt.Sprintf("http://site.test/%d", year))
		if err != nil {
			t.Fatal(err)
		}
		err = i.Sight(Sighting{URL: u, At: time.Date(year, 12, 31, 23, 59, 59, 0, time.UTC), Status: 200, Digest: store.BodyDigest{1}})
		if err == nil {
			err = i.Flush()
		}
		page, _, missing := s.PageOf(u)
		if err != nil || missing != nil || page.FirstSeen != 0 || page.LastFetched != 0 || page.State != store.StatePending {
			t.Errorf("%d: first seen %d, last fetched %d, %v, %v, %v", year, page.FirstSeen, page.LastFetched, page.State, err, missing)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBatchOfLinks holds that a batch is full when its pages have many links, however small their captures are.
func TestBatchOfLinks(t *testing.T) {
	b := newBatch()
	for n := range mostBytes / (1 << 20) {
		if b.full() {
			t.Fatalf("full with %d pages", n)
		}
		u, err := weburl.Parse(fmt.Sprintf("http://site.test/%d", n))
		if err != nil {
			t.Fatal(err)
		}
		b.visit(store.Fetch{Record: &store.Fetched{URL: u, Links: make([]byte, 1<<20)}}, u)
	}
	if !b.full() {
		t.Error("a batch with 4 MiB of links is not full")
	}
}

// TestOtherSpelling imports a capture whose URL is spelled otherwise than Freshet does. Its body can be read.
func TestOtherSpelling(t *testing.T) {
	s := open(t, vfs.NewMem())
	i := New(s)
	block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>text"
	text := fmt.Sprintf("WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>\r\n"+
		"WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: HTTP://Site.Test:80/%%7ea/../b#part\r\n"+
		"Content-Type: application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", len(block), block)
	if err := errors.Join(i.WARC(strings.NewReader(text), "other.warc"), i.Flush()); err != nil {
		t.Fatal(err)
	}
	u, err := weburl.Parse("http://site.test/b")
	if err != nil {
		t.Fatal(err)
	}
	_, fp, err := s.PageOf(u)
	if err != nil {
		t.Fatal(err)
	}
	version, err := s.Version(s.Home(u.Site()), fp, 1)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := s.VersionBody(u, &version); err != nil || string(body.Payload) != "<p>text" {
		t.Errorf("body %v, %v", body, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDecodedBodies imports captures whose bodies were decoded before they were archived, with the headers of the
// server. Their texts and bytes can be read.
func TestDecodedBodies(t *testing.T) {
	s := open(t, vfs.NewMem())
	i := New(s)
	for n, header := range []string{"content-encoding: gzip", "Content-Encoding: GZIP\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked"} {
		block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + header + "\r\n\r\n\r\n<p>words of a page"
		file := fmt.Sprintf("WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2016-01-01T00:00:00Z\r\nWARC-Target-URI: http://site.test/%d\r\n"+
			"Content-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", n, len(block), block)
		if err := errors.Join(i.WARC(strings.NewReader(file), "old.warc"), i.Flush()); err != nil {
			t.Fatal(err)
		}
		u, err := weburl.Parse(fmt.Sprintf("http://site.test/%d", n))
		if err != nil {
			t.Fatal(err)
		}
		page, fp, err := s.PageOf(u)
		if err != nil || page.State != store.StateLive || page.Truncated != "" {
			t.Errorf("%s: %+v, %v", header, page, err)
			continue
		}
		v, err1 := s.Version(s.Home(u.Site()), fp, page.Versions)
		captured, err2 := s.VersionBody(u, &v)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if body, _, err := fetch.Decode(captured.Header, captured.Payload, 1<<20); err != nil || string(body) != "\r\n<p>words of a page" {
			t.Errorf("%s: the body is %q, %v", header, body, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRevisits imports a page and revisits of it. A revisit is known by the digest or, if that is of another kind, by
// the time of the original. It changes nothing that the page says about its use, unless its header says more.
func TestRevisits(t *testing.T) {
	const other = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	body := `<meta name="robots" content="noai"><p>text`
	same := warc.DigestOf([]byte(body))
	file := func(kind, date, extra, header, body string) string {
		block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + header + "\r\n" + body
		return fmt.Sprintf("WARC/1.1\r\nWARC-Type: %s\r\nWARC-Date: %s\r\nWARC-Target-URI: http://site.test/\r\n%s"+
			"Content-Type: application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", kind, date, extra, len(block), block)
	}
	profile := "WARC-Profile: " + warc.ProfileIdentical + "\r\n"
	original := "WARC-Refers-To-Target-URI: http://site.test/\r\nWARC-Refers-To-Date: 2026-01-01T00:00:00Z\r\n"
	for name, test := range map[string]struct {
		extra, header string
		want          string
	}{
		"by digest":          {"WARC-Payload-Digest: " + same.String() + "\r\n", "", "2 visits, new, meta robots: noai"},
		"by time":            {"WARC-Payload-Digest: " + other + "\r\n" + original, "", "2 visits, new, meta robots: noai"},
		"of another time":    {"WARC-Payload-Digest: " + other + "\r\n" + strings.Replace(original, "01T", "02T", 1), "", "1 visits, new, meta robots: noai"},
		"of another page":    {"WARC-Payload-Digest: " + other + "\r\n" + strings.Replace(original, "test/", "test/b", 1), "", "1 visits, new, meta robots: noai"},
		"header forbids":     {original, "X-Robots-Tag: noindex\r\n", "2 visits, changed, meta robots: noai\nheader robots: noindex"},
		"header says no new": {original, "X-Robots-Tag: noai\r\n", "2 visits, new, meta robots: noai"},
	} {
		s := open(t, vfs.NewMem())
		i := New(s)
		text := file("response", "2026-01-01T00:00:00Z", "", "", body) + file("revisit", "2026-01-03T00:00:00Z", profile+test.extra, test.header, "")
		if err := errors.Join(i.WARC(strings.NewReader(text), "some.warc"), i.Flush()); err != nil {
			t.Fatal(err)
		}
		u, err := weburl.Parse("http://site.test/")
		if err != nil {
			t.Fatal(err)
		}
		page, _, err := s.PageOf(u)
		if err != nil {
			t.Fatal(err)
		}
		changes, err := s.Changes(s.Home(u.Site()), 0, 10)
		if err != nil || len(changes) != 1 {
			t.Fatal(changes, err)
		}
		if got := fmt.Sprintf("%d visits, %v, %s", page.Visits, changes[0].Kind, page.PageSignals); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// An archived record is one of a WARC file that a test writes. Its body is that of a response.
type archived struct {
	kind, url, date, extra, header, body string
}

// warcOf returns a WARC file of records.
func warcOf(records ...archived) *strings.Reader {
	var file strings.Builder
	for _, r := range records {
		block := "HTTP/1.1 200 OK\r\nContent-Type: " + cmp.Or(r.header, "text/html") + "\r\n\r\n" + r.body
		fmt.Fprintf(&file, "WARC/1.1\r\nWARC-Type: %s\r\nWARC-Date: 2026-01-%sT00:00:00Z\r\nWARC-Target-URI: http://%s\r\n%s"+
			"Content-Type: application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", r.kind, r.date, r.url, r.extra, len(block), block)
	}
	return strings.NewReader(file.String())
}

// TestRevisitsOfOthers imports archives in which crawlers have replaced a body that they had seen before, at any URL,
// by a revisit record. Each page has the body all the same.
func TestRevisitsOfOthers(t *testing.T) {
	const body = `<p>caf` + "\u00e9" + `<a href="/next">next</a>`
	digest := "WARC-Payload-Digest: " + warc.DigestOf([]byte(body)).String() + "\r\n"
	id := func(field string) string { return field + ": <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n" }
	original := archived{"response", "a.test/", "01", id("WARC-Record-ID"), "", body}
	revisit := func(at, date, extra, header string) archived {
		return archived{"revisit", at, date, "WARC-Profile: " + warc.ProfileIdentical + "\r\n" + extra, header, ""}
	}
	toA := "WARC-Refers-To-Target-URI: http://a.test/\r\n"
	atTime := toA + "WARC-Refers-To-Date: 2026-01-01T00:00:00Z\r\n"
	otherDigest := "WARC-Payload-Digest: sha256:00\r\n"
	for name, test := range map[string]struct {
		files [][]archived
		want  string // visits and versions of b.test, and what is skipped
	}{
		"by digest":               {[][]archived{{original, revisit("b.test/", "02", toA+digest, "")}}, "1 visits, 1 versions"},
		"by time":                 {[][]archived{{original, revisit("b.test/", "02", atTime+otherDigest, "")}}, "1 visits, 1 versions"},
		"by identity":             {[][]archived{{original, revisit("b.test/", "02", toA+id("WARC-Refers-To"), "")}}, "1 visits, 1 versions"},
		"named in brackets":       {[][]archived{{original, revisit("b.test/", "02", "WARC-Refers-To-Target-URI: <http://a.test/>\r\n"+digest, "")}}, "1 visits, 1 versions"},
		"called cut":              {[][]archived{{original, revisit("b.test/", "02", toA+digest+"WARC-Truncated: length\r\n", "")}}, "1 visits, 1 versions"},
		"with a coding":           {[][]archived{{original, revisit("b.test/", "02", toA+digest, "text/html\r\ntransfer-encoding: chunked")}}, "1 visits, 1 versions"},
		"twice":                   {[][]archived{{original, revisit("b.test/", "02", toA+digest, ""), revisit("b.test/", "03", atTime+otherDigest, "")}}, "2 visits, 1 versions"},
		"in another charset":      {[][]archived{{original, revisit("b.test/", "02", toA+digest, "text/html; charset=utf-8"), revisit("b.test/", "03", toA+digest, "text/html; charset=iso-8859-1")}}, "2 visits, 2 versions"},
		"whole, another charset":  {[][]archived{{original, revisit("b.test/", "02", toA+digest, ""), {"response", "b.test/", "03", "", "text/html; charset=iso-8859-1", body}}}, "2 visits, 2 versions"},
		"of a file before":        {[][]archived{{original}, {revisit("b.test/", "02", toA+digest, "")}}, "1 visits, 1 versions"},
		"of a file behind":        {[][]archived{{revisit("b.test/", "02", toA+digest, "")}, {original}}, "1 visits, 1 versions"},
		"before its original":     {[][]archived{{revisit("b.test/", "02", toA+digest, ""), {"response", "b.test/", "03", "", "", "<p>tea"}, {"response", "b.test/", "04", "", "", body}}, {original}}, "3 visits, 3 versions"},
		"over two files":          {[][]archived{{revisit("b.test/", "02", toA+digest, "")}, {{"response", "b.test/", "03", "", "", "<p>tea"}, revisit("b.test/", "04", toA+digest, "")}, {original}}, "3 visits, 3 versions"},
		"of nothing, then others": {[][]archived{{revisit("b.test/", "02", "WARC-Refers-To-Target-URI: http://c.test/\r\n"+otherDigest, ""), {"response", "b.test/", "03", "", "", "<p>tea"}, {"response", "b.test/", "04", "", "", body}}}, "2 visits, 2 versions, 1 skipped: http://c.test/"},
		"of a version before":     {[][]archived{{original, {"response", "a.test/", "02", "", "", "<p>tea"}, revisit("b.test/", "03", toA+digest, "")}}, "1 visits, 1 versions"},
		"of the page long before": {[][]archived{{{"response", "b.test/", "01", "", "", body}, {"response", "b.test/", "02", "", "", "<p>tea"}, revisit("b.test/", "03", digest, "")}}, "3 visits, 3 versions"},
		"of nothing":              {[][]archived{{revisit("b.test/", "02", toA+digest, "")}}, "0 visits, 0 versions, 1 skipped: http://a.test/"},
		"of other content":        {[][]archived{{{"response", "a.test/", "01", "", "", "<p>tea"}, revisit("b.test/", "02", toA+digest, "")}}, "0 visits, 0 versions, 1 skipped: http://a.test/"},
	} {
		s := open(t, vfs.NewMem())
		i := New(s)
		var err error
		for n, records := range test.files {
			err = errors.Join(err, i.WARC(warcOf(records...), fmt.Sprint(n)), i.Flush())
		}
		for n := range test.files {
			_, late := i.Late(fmt.Sprint(n))
			err = errors.Join(err, late)
		}
		u := parsed(t, "http://b.test/")
		page, fp, missing := s.PageOf(u)
		if err != nil || missing != nil && !errors.Is(missing, store.ErrNotFound) {
			t.Fatal(name, err, missing)
		}
		got := fmt.Sprintf("%d visits, %d versions", page.Visits, page.Versions)
		if n := i.Skipped[noOriginal]; n > 0 {
			got += fmt.Sprintf(", %d skipped: %s", n, strings.Join(i.Missing, " "))
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		if page.Versions > 0 {
			v, err := s.Version(s.Home(u.Site()), fp, page.Versions)
			if err != nil {
				t.Fatal(name, err)
			}
			captured, err := s.VersionBody(u, &v)
			links, failed := s.OutLinks(s.Home(u.Site()), fp)
			if err := errors.Join(err, failed); err != nil || string(captured.Payload) != body || len(links) != 1 || v.ContentType != captured.Header.Get("Content-Type") {
				t.Errorf("%s: the version is %+v with the capture %+v, and has %d links: %v", name, v, captured, len(links), err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRobotsIsNoPage imports archives that have the robots.txt and tdmrep.json of a site, as Freshet, wget and warcio
// write them. Only their page becomes one.
func TestRobotsIsNoPage(t *testing.T) {
	const robots, rights = "https://a.test/robots.txt", "https://a.test/.well-known/tdmrep.json"
	var own []byte
	for n, url := range []string{robots, rights, "https://a.test/robots.txt.html"} {
		record := &warc.Record{Type: warc.Response, Date: time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC), TargetURI: url,
			ContentType: warc.TypeResponse, Block: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow:\n")}
		record.Seal()
		var err error
		if own, err = warc.NewEncoder(warc.FastLevel).AppendMember(own, record); err != nil {
			t.Fatal(err)
		}
	}
	page := archived{"response", "a.test/robots.txt.html", "02", "", "", "<p>text"}
	rules := archived{"response", "a.test/robots.txt", "01", "", "text/plain", "User-agent: *\nDisallow:\n"}
	plain, err := io.ReadAll(warcOf(rules, page))
	if err != nil {
		t.Fatal(err)
	}
	again := archived{"revisit", "a.test/robots.txt", "03", "WARC-Profile: " + warc.ProfileIdentical + "\r\n", "text/plain", ""}
	for writer, file := range map[string]io.Reader{
		"freshet": bytes.NewReader(own),
		"wget":    strings.NewReader(strings.ReplaceAll(string(plain), "http://a.test/robots.txt\r\n", "<http://a.test/robots.txt>\r\n")),
		"warcio":  warcOf(rules, page, again),
	} {
		s := open(t, vfs.NewMem())
		i := New(s)
		if err := errors.Join(i.WARC(file, "some.warc"), i.Flush()); err != nil {
			t.Fatal(writer, err)
		}
		if waited, err := i.Late("some.warc"); waited || err != nil {
			t.Errorf("%s: waits: %v, %v", writer, waited, err)
		}
		pages := 0
		for _, scheme := range []string{"http", "https"} {
			if site, err := s.Site(weburl.Site(scheme + "://a.test")); err == nil {
				pages += int(site.Pages)
			}
		}
		if pages != 1 || i.Visits != 1 || i.Skipped[NoPage] == 0 {
			t.Errorf("%s: %d pages, %d visits, skipped %v", writer, pages, i.Visits, i.Skipped)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func parsed(t *testing.T, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestListedAndUnchanged imports a page from a list, and then an answer with the body that the list says. The page has
// not changed, but now it has a body and links, and consumers are told.
func TestListedAndUnchanged(t *testing.T) {
	const body = `<p>text<a href="/next">next</a>`
	u := parsed(t, "http://site.test/")
	s := open(t, vfs.NewMem())
	i := New(s)
	listed := Sighting{URL: u, At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Status: 200, ContentType: "text/html", Digest: warc.DigestOf([]byte(body))}
	if err := errors.Join(i.Sight(listed), i.WARC(warcOf(archived{"response", "site.test/", "02", "", "", body}), ""), i.Flush()); err != nil {
		t.Fatal(err)
	}
	home := s.Home(u.Site())
	page, fp, err1 := s.PageOf(u)
	visits, err2 := s.Visits(home, fp)
	v, err3 := s.Version(home, fp, page.Versions)
	captured, err4 := s.VersionBody(u, &v)
	links, err5 := s.OutLinks(home, fp)
	changes, err6 := s.Changes(home, 0, 9)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		t.Fatal(err)
	}
	if len(visits) != 2 || visits[1].Changed || string(captured.Payload) != body || len(links) != 1 || len(changes) != 1 || changes[0].Kind != store.ChangeChanged {
		t.Errorf("visits %+v, body %q, links %v, changes %+v", visits, captured.Payload, links, changes)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
