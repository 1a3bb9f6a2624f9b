package seen

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/weburl"
)

// ErrFull says that the buffer has no room for a batch: Drain, then offer it again.
var ErrFull = errors.New("seen: buffer is full")

// Mark is a record of the store: everything up to it, in that partition, has been offered. Records
// are numbered from 1; a mark of record 0 marks nothing.
type Mark struct {
	Partition weburl.Partition
	Record    uint64
}

// Verdict is what the test says of one link.
type Verdict struct {
	// Link is the link as it was first offered since the last Drain, but for four fields: Cash is
	// the sum, Depth and Hops are the lowest and LastMod is the latest of all that was offered since
	// then. Cash, Hops and LastMod are whole only with Options.Repeats.
	Link weburl.Link

	// New says that the URL was not known. Of a known one, Link is what it adds.
	New bool
}

// Options say how a Test works. A zero field stands for its default.
type Options struct {
	FS           vfs.FS        // where the set lives; default the machine's file system
	CacheEntries int           // slots of the cache; default 65536
	BufferLinks  int           // links that may wait for a Drain; default 131072
	MaxWait      time.Duration // age at which what waits makes a Drain due; default 100 ms
	Logger       *slog.Logger  // hears of a damaged set; default discards

	// Repeats asks for verdicts on all known links, for the cash they add. Without it known links
	// are dropped, but for those that come at a lower depth than ever before.
	Repeats bool
}

// bufferBytes is the room for URLs in the buffer, per link: twice the length of a usual URL.
const bufferBytes = 128

func (o Options) withDefaults() Options {
	o.FS = cmp.Or(o.FS, vfs.Default)
	o.CacheEntries = cmp.Or(o.CacheEntries, 1<<16)
	o.BufferLinks = cmp.Or(o.BufferLinks, 1<<17)
	o.MaxWait = cmp.Or(o.MaxWait, 100*time.Millisecond)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// Validate returns all faults of o, joined.
func (o Options) Validate() error {
	var faults []error
	if o.CacheEntries < 0 || o.CacheEntries > 1<<31-1 {
		faults = append(faults, fmt.Errorf("seen: cache of %d entries: want 1 to 2^31-1", o.CacheEntries))
	}
	if o.BufferLinks < 0 || o.BufferLinks > 1<<31-1 {
		faults = append(faults, fmt.Errorf("seen: buffer of %d links: want 1 to 2^31-1", o.BufferLinks))
	}
	if o.MaxWait < 0 {
		faults = append(faults, fmt.Errorf("seen: longest wait %v: want more than 0", o.MaxWait))
	}
	return errors.Join(faults...)
}

// Test is the URL-seen test. One goroutine may Offer while another calls the other methods; Offer
// never waits for the others' disk access.
//
// Its memory is the cache (some 10 bytes an entry), two buffers of BufferLinks links and 128 bytes
// of URL for each, what was decided since the last Keep, and some 30 MiB for the set, however many
// URLs that holds. On disk a URL takes some 15 bytes.
type Test struct {
	opt  Options
	lost bool

	deciding sync.Mutex // held before waiting where both are
	set      *set
	taken    *buffer                       // being decided; kept when a lookup failed
	depths   map[weburl.Fingerprint]uint16 // decided since the last Keep
	added    int64                         // of these, how many are new
	marks    map[weburl.Partition]uint64   // decided since the last Keep

	waiting sync.Mutex
	cache   recent
	buffer  *buffer
}

// Open opens the set in dir, which it makes if need be. A set that is damaged is thrown away; see
// Lost. It is an error if the disk cannot be used or the set is open already.
func Open(dir string, opt Options) (*Test, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	set, lost, err := openSet(opt.FS, dir, opt.Logger)
	if err != nil {
		return nil, err
	}
	t := &Test{opt: opt, set: set, lost: lost}
	t.forget()
	return t, nil
}

// forget empties all but the set.
func (t *Test) forget() {
	t.cache = newRecent(t.opt.CacheEntries)
	t.buffer, t.taken = newBuffer(), newBuffer()
	t.decideAnew()
}

func (t *Test) decideAnew() {
	t.depths, t.marks, t.added = map[weburl.Fingerprint]uint16{}, map[weburl.Partition]uint64{}, 0
}

// Lost reports whether Open found no usable set: this is the first time, or the set was damaged.
// Unless the store is empty too, Rebuild before the first Offer.
func (t *Test) Lost() bool { return t.lost }

// Offer hands over the links of the record at mark; the records of a partition come in order. They
// are taken all or not at all: ErrFull means Drain first and offer the same again. A batch that is
// larger than the whole buffer is taken when nothing else waits. Links may repeat within the batch;
// their fingerprints must be set. O(1) a link.
func (t *Test) Offer(mark Mark, links []weburl.Link, now time.Time) error {
	t.waiting.Lock()
	defer t.waiting.Unlock()
	if !t.fits(links) {
		return ErrFull
	}
	if t.buffer.empty() {
		t.buffer.since = now
	}
	for _, link := range links {
		settled := t.cache.settles(link.Fingerprint, link.Depth)
		if settled && !t.opt.Repeats {
			continue
		}
		t.buffer.add(waiting{link, settled})
	}
	t.buffer.mark(mark)
	return nil
}

// fits reports whether there is room for links, even if all of them must wait.
func (t *Test) fits(links []weburl.Link) bool {
	if len(t.buffer.links) == 0 {
		return true
	}
	bytes := t.buffer.bytes
	for i := range links {
		bytes += len(links[i].URL.String())
	}
	return len(t.buffer.links)+len(links) <= t.opt.BufferLinks && bytes <= t.opt.BufferLinks*bufferBytes
}

// Due reports whether it is time for a Drain: the buffer is half full, or something has waited for
// Options.MaxWait. O(1).
func (t *Test) Due(now time.Time) bool {
	t.waiting.Lock()
	defer t.waiting.Unlock()
	b := t.buffer
	if len(b.links) >= t.opt.BufferLinks/2+1 || b.bytes >= t.opt.BufferLinks*bufferBytes/2 {
		return true
	}
	return !b.empty() && now.Sub(b.since) >= t.opt.MaxWait
}

// Drain decides all that was offered before it, and appends the verdicts to dst in order of
// discovery. Marks, in order of partition, are the last records that are wholly decided by now and
// were not before. A fingerprint is new once: what was decided counts as known from then on, though
// it becomes durable only by Keep. After an error nothing is decided, and the next Drain decides what
// this one should have, and no more.
//
// O(n log n) for n waiting links, and a sorted pass over the set.
func (t *Test) Drain(dst []Verdict) (verdicts []Verdict, marks []Mark, err error) {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	if t.taken.empty() {
		t.waiting.Lock()
		t.taken, t.buffer = t.buffer, newBuffer()
		t.waiting.Unlock()
	}
	known, err := t.lookup(t.taken.links)
	if err != nil {
		return dst, nil, err
	}
	for i := range t.taken.links {
		if v, tell := t.decide(&t.taken.links[i], known); tell {
			dst = append(dst, v)
		}
	}
	maps.Copy(t.marks, t.taken.marks)
	marks = sortedMarks(t.taken.marks)
	t.taken = newBuffer()
	return dst, marks, nil
}

// lookup returns the depths of the links that the set knows and that are in doubt.
func (t *Test) lookup(links []waiting) (map[weburl.Fingerprint]uint16, error) {
	var doubtful []weburl.Fingerprint
	for i := range links {
		fp := links[i].Fingerprint
		if _, ok := t.depths[fp]; !ok && !links[i].settled {
			doubtful = append(doubtful, fp)
		}
	}
	slices.Sort(doubtful)
	known := map[weburl.Fingerprint]uint16{}
	err := t.set.lookup(doubtful, func(d depthOf) { known[d.fp] = d.depth })
	return known, err
}

// decide turns a link into a verdict and notes what Keep must write. tell is false for a known link
// that says nothing.
func (t *Test) decide(w *waiting, known map[weburl.Fingerprint]uint16) (v Verdict, tell bool) {
	if w.settled {
		return Verdict{Link: w.Link}, t.opt.Repeats
	}
	lowest, ok := known[w.Fingerprint]
	if d, recent := t.depths[w.Fingerprint]; recent {
		lowest, ok = d, true
	}
	if !ok {
		t.added++
	}
	if !ok || w.Depth < lowest {
		t.depths[w.Fingerprint] = w.Depth
		return Verdict{Link: w.Link, New: !ok}, true
	}
	return Verdict{Link: w.Link}, t.opt.Repeats
}

// Keep makes durable all that Drain has decided, marks included: all of it or, after a crash or an
// error, nothing. Call it when the verdicts are stored. After an error what was decided stays known
// in memory, but this Test can keep nothing any more: close it.
func (t *Test) Keep() error {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	if len(t.depths) == 0 && len(t.marks) == 0 {
		return nil
	}
	depths := make([]depthOf, 0, len(t.depths))
	for fp, d := range t.depths {
		depths = append(depths, depthOf{fp, d})
	}
	sortDepths(depths)
	if err := t.set.write(depths, t.added, sortedMarks(t.marks)); err != nil {
		return err
	}
	t.decideAnew()
	return nil
}

// Marks returns the durable marks in order of partition: after a restart, offer what came later.
func (t *Test) Marks() []Mark {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	return sortedMarks(t.set.marks)
}

// Known returns how many URLs are known, those included that are not durable yet.
func (t *Test) Known() int64 {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	return t.set.known + t.added
}

// rebuildBatch is how many fingerprints Rebuild writes at a time.
const rebuildBatch = 1 << 16

// Rebuild forgets everything, takes instead the URLs that known yields, each with its depth, and
// sets the marks: known must hold all that was discovered up to them. The new set is durable when
// Rebuild returns. It also mends a Test whose Drain fails because the set is damaged. After an error
// or a crash the set is lost again. A URL may come more than once. Memory does not depend on the
// number of URLs.
func (t *Test) Rebuild(known iter.Seq2[weburl.Fingerprint, uint16], marks []Mark) error {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	t.waiting.Lock()
	defer t.waiting.Unlock()
	if err := t.set.reset(); err != nil {
		return err
	}
	t.forget()
	t.lost = true

	var added int64
	batch := make([]depthOf, 0, rebuildBatch)
	for fp, depth := range known {
		if batch = append(batch, depthOf{fp, depth}); len(batch) == cap(batch) {
			n, err := t.fill(batch)
			if err != nil {
				return err
			}
			added += n
			batch = batch[:0]
		}
	}
	n, err := t.fill(batch)
	if err != nil {
		return err
	}
	if err := t.set.write(nil, added+n, marks); err != nil {
		return err
	}
	t.lost = false
	return nil
}

// fill writes a batch of depths to a set that is being rebuilt, and returns how many fingerprints of
// it the set did not have.
func (t *Test) fill(batch []depthOf) (added int64, err error) {
	sortDepths(batch)
	batch = slices.CompactFunc(batch, func(a, b depthOf) bool { return a.fp == b.fp })
	fps := make([]weburl.Fingerprint, len(batch))
	for i, d := range batch {
		fps[i] = d.fp
	}
	have := 0
	i := 0
	err = t.set.lookup(fps, func(d depthOf) {
		for batch[i].fp != d.fp {
			i++
		}
		batch[i].depth = min(batch[i].depth, d.depth)
		have++
	})
	if err != nil {
		return 0, err
	}
	return int64(len(batch) - have), t.set.fill(batch)
}

// sortDepths sorts by fingerprint, and by depth where that is equal.
func sortDepths(depths []depthOf) {
	slices.SortFunc(depths, func(a, b depthOf) int {
		return cmp.Or(cmp.Compare(a.fp, b.fp), cmp.Compare(a.depth, b.depth))
	})
}

// Close closes the set. What was decided and not kept is forgotten.
func (t *Test) Close() error {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	return t.set.close()
}
