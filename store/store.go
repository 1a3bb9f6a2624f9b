package store

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/weburl"
)

// Options say how a data directory is opened. The zero value is usable.
type Options struct {
	FS         vfs.FS                                            // default vfs.Default
	Crawl      string                                            // name of the crawl, 1 to 64 of a-z, 0-9, '.', '_', '-'; default "default"
	Partitions int                                               // number of partitions of a new directory, 1 to 65,536; default 16; an old one keeps its own
	ReadOnly   bool                                              // refuse every write; the directory must exist
	CacheBytes int64                                             // block cache, beside the write buffers; default 32 MiB
	OnRecord   func(p weburl.Partition, n uint64, record []byte) // called for every record once it is durable, in a partition's order; record is valid only during the call
	Clock      *clock.Clock                                      // dates the WARC files; default clock.Real()
	Logger     *slog.Logger                                      // default: none
	WARC       WARCOptions
}

// WARCOptions say how captures are written.
type WARCOptions struct {
	Prefix   string      // of file names; default "freshet"
	Host     string      // in file names; default the machine's name
	MaxBytes int64       // a file is closed once it is longer; default 1 GiB
	Info     [][2]string // fields of the warcinfo record: operator, software, robots, …
}

// Store is an open data directory. One goroutine writes; any number may read meanwhile.
type Store struct{ options Options }

// Start says how the directory was found.
type Start struct {
	Fresh     bool      // it was created, or this crawl had never been opened
	Clean     bool      // it had been closed
	LastAlive time.Time // the last heartbeat; zero if there is none
	Truncated []string  // names of WARC files whose torn tails were cut
}

// Fetch is a finished fetch: its record, and its captures.
type Fetch struct {
	Record  Record   // *Fetched or *Robots; CommitPages sets its Capture
	Members [][]byte // WARC records, each a whole gzip member, in the order in which they are written; empty: no capture
	Main    int      // the member that Capture names: the response or revisit
	ID      [16]byte // UUID of that record
}

// Open opens the data directory dir, creating it where there is none and ReadOnly is not set.
func Open(dir string, o Options) (*Store, error) { panic("store: not built yet") }

// Close closes the WARC file and the database and notes a clean stop.
func (s *Store) Close() error { panic("store: not built yet") }

// Start returns how the directory was found at Open.
func (s *Store) Start() Start { panic("store: not built yet") }

// Partitions returns the number of partitions of the directory.
func (s *Store) Partitions() int { panic("store: not built yet") }

// Heartbeat notes durably that the crawl was alive at now.
func (s *Store) Heartbeat(now time.Time) error { panic("store: not built yet") }

// CommitPages makes a group of fetches durable.
func (s *Store) CommitPages(group []Fetch) ([]Move, error) { panic("store: not built yet") }

// Apply applies records that have no captures in one atomic batch and makes it durable.
func (s *Store) Apply(records ...Record) ([]Move, error) { panic("store: not built yet") }

// Replay applies a record captured by OnRecord, which must be the partition's next.
func (s *Store) Replay(p weburl.Partition, n uint64, record []byte) error {
	panic("store: not built yet")
}

// Page returns the row at fp; ErrNotFound if there is none.
func (s *Store) Page(p weburl.Partition, fp weburl.Fingerprint) (Page, error) {
	panic("store: not built yet")
}

// PageOf returns the row of u and its key.
func (s *Store) PageOf(u weburl.URL) (Page, weburl.Fingerprint, error) { panic("store: not built yet") }

// Pages iterates over a partition's rows by fingerprint.
func (s *Store) Pages(p weburl.Partition) iter.Seq2[PageAt, error] { panic("store: not built yet") }

// PageAt is a page's row with its key.
type PageAt struct {
	Fingerprint weburl.Fingerprint
	Page
}

// Site returns a site's row.
func (s *Store) Site(site weburl.Site) (SiteRow, error) { panic("store: not built yet") }

// Sites iterates over a partition's site rows by name.
func (s *Store) Sites(p weburl.Partition) iter.Seq2[SiteRow, error] { panic("store: not built yet") }

// RobotsBody returns the stored robots.txt of a site; ErrNotFound if none is kept.
func (s *Store) RobotsBody(site weburl.Site) ([]byte, error) { panic("store: not built yet") }

// Gate returns the stored politeness of a host of partition p, zero if there is none.
func (s *Store) Gate(p weburl.Partition, host string) (Gate, error) { panic("store: not built yet") }

// ReadQueue appends up to n entries of a site's queue after the place after, in order.
func (s *Store) ReadQueue(dst []Entry, site weburl.Site, q Queue, after Key, n int) ([]Entry, error) {
	panic("store: not built yet")
}

// Visits returns the kept visits of a page, oldest first.
func (s *Store) Visits(p weburl.Partition, fp weburl.Fingerprint) ([]Visit, error) {
	panic("store: not built yet")
}

// Versions returns the versions of a page, oldest first.
func (s *Store) Versions(p weburl.Partition, fp weburl.Fingerprint) ([]Version, error) {
	panic("store: not built yet")
}

// OutLinks returns the links of a page's last complete capture.
func (s *Store) OutLinks(p weburl.Partition, fp weburl.Fingerprint) ([]OutLink, error) {
	panic("store: not built yet")
}

// Changes returns up to n entries of a partition's change log after record number after, in order.
func (s *Store) Changes(p weburl.Partition, after uint64, n int) ([]Change, error) {
	panic("store: not built yet")
}

// Records calls fn for the kept records of p after number after, in order, until fn fails.
func (s *Store) Records(p weburl.Partition, after uint64, fn func(n uint64, r Record) error) error {
	panic("store: not built yet")
}

// Marks returns the marks of p's consumers, sorted by consumer.
func (s *Store) Marks(p weburl.Partition) ([]Mark, error) { panic("store: not built yet") }

// Counters returns a partition's totals.
func (s *Store) Counters(p weburl.Partition) (Counters, error) { panic("store: not built yet") }

// Total returns the sum of all partitions' totals; Records and Trimmed are sums too.
func (s *Store) Total() (Counters, error) { panic("store: not built yet") }

// Body reads a captured response.
func (s *Store) Body(at Pointer) (*Body, error) { panic("store: not built yet") }

// Body is a captured HTTP response.
type Body struct{}

// Files returns the names of the WARC files that hold captures, in order.
func (s *Store) Files() ([]string, error) { panic("store: not built yet") }

// ExportPartition writes a partition with its captures as one stream.
func (s *Store) ExportPartition(p weburl.Partition, w io.Writer) error { panic("store: not built yet") }

// ImportPartition takes in what ExportPartition wrote.
func (s *Store) ImportPartition(r io.Reader) (weburl.Partition, error) { panic("store: not built yet") }

// Problem is something that Verify found wrong.
type Problem struct{ Text string }

// Verify checks everything in the directory against everything else.
func (s *Store) Verify(ctx context.Context, report func(Problem)) error {
	panic("store: not built yet")
}

func validName(name string) bool {
	if len(name) < 1 || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
