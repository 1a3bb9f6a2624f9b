package store

import (
	"crypto/sha1"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/store/warc"
	"freshet/weburl"
)

// testPartitions is small, so that sites share partitions.
const testPartitions = 4

// begin is when every test starts.
var begin = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func testOptions(fs vfs.FS) Options {
	return Options{
		FS: fs, Partitions: testPartitions, CacheBytes: 1 << 20,
		Clock: clock.New(begin, 1), WARC: WARCOptions{Host: "test"},
	}
}

func openTest(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open("data", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && s.broken == nil {
			t.Error(err)
		}
	})
	return s
}

func parse(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func home(u weburl.URL) weburl.Partition { return u.Partition(testPartitions) }

// at returns a test's time in records, minutes after it began.
func at(minutes int) int64 { return begin.Add(time.Duration(minutes) * time.Minute).UnixNano() }

// discover makes rows of pages.
func discover(t testing.TB, s *Store, raw ...string) {
	t.Helper()
	var records []Record
	for i, text := range raw {
		u := parse(t, text)
		records = append(records, &Discovered{Partition: home(u), At: at(0), New: []NewPage{{URL: u, Order: uint64(i), Rel: weburl.RelAnchor, Depth: 1}}})
	}
	if _, err := s.Apply(records...); err != nil {
		t.Fatal(err)
	}
}

// answer returns the fetch of a page with a body, captured.
func answer(t testing.TB, u weburl.URL, minutes int, body string) Fetch {
	t.Helper()
	block := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	digest := sha1.Sum([]byte(body))
	response := &warc.Record{
		Type: warc.Response, Date: time.Unix(0, at(minutes)), TargetURI: u.String(), ContentType: warc.TypeResponse,
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
	return Fetch{
		Record: &Fetched{
			URL: u, At: at(minutes), End: at(minutes) + 1e9, Outcome: OutcomeStored, Status: 200, ContentType: "text/html",
			Size: int64(len(body)), WireBytes: int64(len(block)), TotalNs: 1e9, BodyDigest: digest,
			Gate: &Gate{End: at(minutes), Next: at(minutes + 1), IntervalNs: 60e9},
		},
		Members: members, ID: response.ID,
	}
}

// status returns the fetch of a page that gave nothing to keep.
func status(u weburl.URL, minutes, code int) Fetch {
	return Fetch{Record: &Fetched{URL: u, At: at(minutes), End: at(minutes) + 1e9, Outcome: OutcomeOf(code), Status: code}}
}

func commitPages(t testing.TB, s *Store, group ...Fetch) []Move {
	t.Helper()
	moves, err := s.CommitPages(group)
	if err != nil {
		t.Fatal(err)
	}
	return moves
}

// dump returns the keys and values of a crawl as lines.
func dump(t testing.TB, s *Store) (lines []string) {
	t.Helper()
	from, to := format.Span(s.keys.Prefix)
	err := database.Scan(s.db, from, to, func(key, value []byte) error {
		lines = append(lines, fmt.Sprintf("%x = %x", key, value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
