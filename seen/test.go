package seen

import (
	"errors"
	"iter"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/weburl"
)

// ErrFull says that a buffer has no room for a batch: drain, then offer it again.
var ErrFull = errors.New("seen: buffer full")

// Mark is a record of the store: everything up to it in that partition has been offered.
type Mark struct {
	Partition weburl.Partition
	Record    uint64
}

// Verdict is the answer for one link.
type Verdict struct {
	Link weburl.Link // Cash is the sum, Depth and Hops are the lowest of all that was offered since the last Drain
	New  bool        // whether the URL was never seen before
}

// Options say how a Test works; a zero field means its default.
type Options struct {
	FS           vfs.FS        // where the set lives; default the machine's file system
	CacheEntries int           // entries of the CLOCK cache; default 65536
	BufferLinks  int           // links that may wait for a Drain; default 131072
	MaxWait      time.Duration // age at which waiting links make a Drain due; default 100 ms
	Repeats      bool          // report known links too, for what they add
}

// Test is the URL-seen test of one node.
type Test struct{}

func Open(dir string, opt Options) (*Test, error) { return &Test{}, nil }

func (t *Test) Offer(mark Mark, links []weburl.Link, now time.Time) error { return nil }

func (t *Test) Due(now time.Time) bool { return false }

func (t *Test) Drain(dst []Verdict) (verdicts []Verdict, marks []Mark, err error) {
	return dst, nil, nil
}

func (t *Test) Keep() error { return nil }

func (t *Test) Marks() []Mark { return nil }

func (t *Test) Known() int64 { return 0 }

func (t *Test) Lost() bool { return false }

func (t *Test) Rebuild(known iter.Seq[weburl.Fingerprint], marks []Mark) error { return nil }

func (t *Test) Close() error { return nil }
