// Package storetest has what the tests of the store and of the packages below it share: options, pages, answers,
// and small crawls.
package storetest

import (
	"crypto/sha1"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/store"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/store/warc"
	"freshet/weburl"
)

// Partitions is small, so that sites share partitions.
const Partitions = 4

// Begin is when every test starts.
var Begin = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// Options returns the options of a small directory on a disk.
func Options(fs vfs.FS) store.Options {
	return store.Options{
		FS: fs, Partitions: Partitions, CacheBytes: 1 << 20,
		Clock: clock.New(Begin, 1), WARC: store.WARCOptions{Host: "test"},
	}
}

// Open opens the directory "data", until the test ends.
func Open(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open("data", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Parse returns a URL.
func Parse(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Home returns the partition of a page.
func Home(u weburl.URL) weburl.Partition { return u.Partition(Partitions) }

// At returns a test's time in records, minutes after it began.
func At(minutes int) int64 { return Begin.Add(time.Duration(minutes) * time.Minute).UnixNano() }

// Discover makes rows of pages.
func Discover(t testing.TB, s *store.Store, raw ...string) {
	t.Helper()
	var records []store.Record
	for i, text := range raw {
		u := Parse(t, text)
		records = append(records, &store.Discovered{Partition: Home(u), At: At(0), New: []store.NewPage{{URL: u, Order: uint64(i), Rel: weburl.RelAnchor, Depth: 1}}})
	}
	if _, err := s.Apply(records...); err != nil {
		t.Fatal(err)
	}
}

// Answer returns the fetch of a page with a body, Applied.
func Answer(t testing.TB, u weburl.URL, minutes int, body string) store.Fetch {
	t.Helper()
	block := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	digest := sha1.Sum([]byte(body))
	response := &warc.Record{
		Type: warc.Response, Date: time.Unix(0, At(minutes)), TargetURI: u.String(), ContentType: warc.TypeResponse,
		PayloadDigest: digest, Block: []byte(block),
	}
	response.Seal()
	request := &warc.Record{
		Type: warc.Request, Date: response.Date, TargetURI: u.String(), ContentType: warc.TypeRequest,
		ConcurrentTo: response.ID, Block: []byte("GET " + u.RequestURI() + " HTTP/1.1\r\nHost: " + u.Host() + "\r\n\r\n"),
	}
	encoder := warc.NewEncoder(warc.FastLevel)
	var members [][]byte
	for _, r := range []*warc.Record{response, request} {
		member, err := encoder.AppendMember(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, member)
	}
	return store.Fetch{
		Record: &store.Fetched{
			URL: u, At: At(minutes), End: At(minutes) + 1e9, Outcome: store.OutcomeStored, Status: 200, ContentType: "text/html",
			Size: int64(len(body)), WireBytes: int64(len(block)), TotalNs: 1e9, BodyDigest: digest,
			Gate: &store.Gate{End: At(minutes), Next: At(minutes + 1), IntervalNs: 60e9},
		},
		Members: members, ID: response.ID,
	}
}

// Status returns the fetch of a page without content.
func Status(u weburl.URL, minutes, code int) store.Fetch {
	return store.Fetch{Record: &store.Fetched{URL: u, At: At(minutes), End: At(minutes) + 1e9, Outcome: store.OutcomeOf(code), Status: code}}
}

// Commit makes a group of fetches durable.
func Commit(t testing.TB, s *store.Store, group ...store.Fetch) []store.Move {
	t.Helper()
	moves, err := s.CommitPages(group)
	if err != nil {
		t.Fatal(err)
	}
	return moves
}

// Dump returns the keys and values of a crawl as lines.
func Dump(t testing.TB, s *store.Store) (lines []string) {
	t.Helper()
	from, to := format.Span(s.Inside().Keys.Prefix)
	err := database.Scan(s.Inside().DB, from, to, func(key, value []byte) error {
		lines = append(lines, fmt.Sprintf("%x = %x", key, value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
