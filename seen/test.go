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

	"freshet/seen/disk"
	"freshet/weburl"
)

// ErrFull means that the buffer has no room for a batch. Drain, then offer the batch again.
var ErrFull = errors.New("seen: buffer is full")

// ErrDamaged means that the set on disk is not as it was written. The error names the place. Rebuild the set, or close
// the Test and open it again; it is then Lost.
var ErrDamaged = disk.ErrDamaged

// Mark is a record of the store: everything up to it, in that partition, has been offered. Records
// are numbered from 1; a mark of record 0 marks nothing.
type Mark struct {
	Partition weburl.Partition
	Record    uint64
}

// Verdict is the test's answer for one link.
type Verdict struct {
	// Link is the link as it was first offered since the last Drain, except for four fields. Depth is the lowest of all
	// offers since then. Hops is the lowest and LastMod the latest of the offers that the cache did not drop. Cash must
	// be added to the URL's own, see Options.Cash.
	Link weburl.Link

	// New means that the URL was not known. For a known URL, Link has what the offers add.
	New bool
}

// Options configure a Test. A zero field means its default.
type Options struct {
	FS           vfs.FS // file system of the set; default: the machine's
	CacheEntries int    // slots of the cache; default 65536
	BufferLinks  int    // maximum links that wait for a Drain; default see Room
	// bytes of these links; default 256 times Room, twice the usual size
	BufferBytes int64
	DrainLinks  int           // links in doubt that make a Drain due, if few offers join; default half of Room
	MaxWait     time.Duration // a Drain is due when a link has waited this long; default 100 ms
	Partitions  int           // partitions of the store; a set with another number is lost; default 16
	// Home returns the partition of a site in the store; default Site.Partition.
	Home   func(weburl.Site) weburl.Partition
	Logger *slog.Logger // logs a damaged set; default: none

	// Cash asks for verdicts on known links too, with the cash that they add. The cash of a URL in the cache is held
	// back and comes in larger sums, see weburl.Purse. What is held back when the URL leaves the cache, or at the
	// end, is lost. Without Cash, links carry none, and known links are dropped unless their depth is lower than ever
	// before.
	Cash bool
}

// together is the number of links looked up at once, so that the processor loads their slots in parallel.
const together = 64

const (
	// waitingBytes is the size of a link in the buffer without its URL, including its place in the index. usualBytes
	// is the default room for a link, whose URL may be twice the usual length.
	waitingBytes = 128
	usualBytes   = 256
	// By default the room for links grows with the set. With more known URLs a Drain reads places that are farther
	// apart, so it should decide more links at once. The room takes a third of a byte for each known URL, apart from
	// URLs' texts.
	leastRoom, mostRoom = 1 << 17, 1 << 22
	knownPerLink        = 400
)

func (o Options) withDefaults() Options {
	o.FS = cmp.Or(o.FS, vfs.Default)
	o.CacheEntries = cmp.Or(o.CacheEntries, 1<<16)
	o.MaxWait = cmp.Or(o.MaxWait, DefaultWait)
	o.Partitions = cmp.Or(o.Partitions, 16)
	if o.Home == nil {
		partitions := o.Partitions
		o.Home = func(site weburl.Site) weburl.Partition { return site.Partition(partitions) }
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// Room returns the maximum number of links that wait for a Drain when this many URLs are known: BufferLinks or, by
// default, one for each 400 URLs, from 131,072 to 4 million.
func (o Options) Room(known int64) int {
	return cmp.Or(o.BufferLinks, int(min(max(known/knownPerLink, leastRoom), mostRoom)))
}

// roomBytes returns how many bytes this many waiting links may take.
func (o Options) roomBytes(links int) int { return int(cmp.Or(o.BufferBytes, int64(links)*usualBytes)) }

// Bytes returns the bytes that links take while they wait for a Drain.
func Bytes(links []weburl.Link) (bytes int) {
	for i := range links {
		bytes += waitingBytes + len(links[i].URL.String())
	}
	return bytes
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
	if o.BufferBytes < 0 {
		faults = append(faults, fmt.Errorf("seen: buffer of %d bytes: want 1 or more", o.BufferBytes))
	}
	if o.DrainLinks < 0 {
		faults = append(faults, fmt.Errorf("seen: drain of %d links: want 1 or more", o.DrainLinks))
	}
	if o.MaxWait < 0 {
		faults = append(faults, fmt.Errorf("seen: longest wait %v: want more than 0", o.MaxWait))
	}
	if o.Partitions < 0 || o.Partitions > weburl.MaxPartitions {
		faults = append(faults, fmt.Errorf("seen: %d partitions: want 1 to %d", o.Partitions, weburl.MaxPartitions))
	}
	return errors.Join(faults...)
}

// Test is the URL-seen test. One goroutine may Offer while another calls the other methods; Offer never waits for the
// others' disk access.
//
// Its memory is the cache (about 10 bytes per entry), two buffers of Options.Room links in Options.BufferBytes each,
// and the set's memory (see package disk). Together they take about 30 MB and 1.3 bytes per known URL, or 1.7 bytes
// with more than 50 million. On disk a known URL takes about 7.3 bytes.
type Test struct {
	opt  Options
	lost bool

	deciding  sync.Mutex // held before waiting where both are
	set       *disk.Set
	taken     *buffer                     // links being decided; stays after a failed lookup
	marks     map[weburl.Partition]uint64 // decided since the last Keep
	unkept    bool                        // something was decided since the last Keep
	questions []disk.Entry                // reused
	answers   []disk.Answer               // reused

	waiting sync.Mutex
	cache   recent
	buffer  *buffer
	room    int // for links in the buffer
	sites   sites
}

// Open opens the set in dir, and makes dir if it does not exist. It discards a damaged set; see Lost. It returns an
// error if the disk cannot be used or the set is open already.
func Open(dir string, opt Options) (*Test, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	set, lost, err := disk.Open(dir, disk.Options{FS: opt.FS, Partitions: opt.Partitions, Logger: opt.Logger})
	if err != nil {
		return nil, err
	}
	return &Test{
		opt: opt, lost: lost, set: set,
		cache: newRecent(opt.CacheEntries, opt.Cash), buffer: newBuffer(make([]indexed, smallestIndex)), taken: newBuffer(nil), room: opt.Room(set.Known()),
		marks: map[weburl.Partition]uint64{}, sites: newSites(opt.Home),
	}, nil
}

// Lost reports whether Open found no usable set: this is the first time, or the set was damaged.
// Unless the store is empty too, Rebuild before the first Offer.
func (t *Test) Lost() bool { return t.lost }

// Offer offers the links of the record at mark; the records of a partition must come in order. It accepts all or none:
// after ErrFull, Drain and offer the same links again. It accepts a batch larger than the whole buffer if nothing else
// waits. Links may repeat within the batch; their fingerprints must be set. O(1) per link.
func (t *Test) Offer(mark Mark, links []weburl.Link, now time.Time) error {
	t.waiting.Lock()
	defer t.waiting.Unlock()
	if !t.fits(links) {
		return ErrFull
	}
	if t.buffer.empty() {
		t.buffer.since = now
	}
	for page := range slices.Chunk(links, together) {
		t.buffer.touch(page)
		for i := range page {
			link := &page[i]
			second := secondHash(link.URL)
			settled, lot := t.cache.note(second, link)
			if settled && lot == 0 {
				continue
			}
			t.buffer.add(link, second, t.sites.partition(link.URL.Site()), settled, lot)
		}
	}
	t.buffer.mark(mark)
	return nil
}

// Recall sets the cash that a URL has from before this run: from an earlier run, or as a seed. Further cash is held
// back until it is as much. Otherwise the first link to each known URL after a restart would give a verdict. Call it
// before the URL is offered. If there are more URLs than cache entries, it remembers the first ones. Without
// Options.Cash it does nothing. O(1), and about 20 bytes per URL until it is offered.
func (t *Test) Recall(fp weburl.Fingerprint, cash float64) {
	t.waiting.Lock()
	defer t.waiting.Unlock()
	t.cache.recall(fp, cash)
}

// Collect returns the cash of a known page that is held back, for its links when it is fetched; no verdict will
// include it. It uses the URL, Fingerprint and Depth of page. O(1).
func (t *Test) Collect(page weburl.Link) (cash float64) {
	t.waiting.Lock()
	defer t.waiting.Unlock()
	return t.cache.collect(secondHash(page.URL), &page)
}

// fits reports whether there is room for links, even if all of them must wait.
func (t *Test) fits(links []weburl.Link) bool {
	if len(t.buffer.links) == 0 {
		return true
	}
	return len(t.buffer.links)+len(links) <= t.room && t.buffer.bytes+Bytes(links) <= t.opt.roomBytes(t.room)
}

// Due reports whether it is time for a Drain. It is if Options.DrainLinks links are in doubt and more than the offers
// that joined them, if the buffer is half full, or if a link has waited for Options.MaxWait and for wait. If links
// repeat, it pays to let them wait and join; if not, waiting only takes memory. O(1).
func (t *Test) Due(now time.Time, wait time.Duration) bool {
	t.waiting.Lock()
	defer t.waiting.Unlock()
	b := t.buffer
	half := t.room/2 + 1
	if b.inDoubt >= max(cmp.Or(t.opt.DrainLinks, half), b.joined+1) || len(b.links) >= half || b.bytes >= t.opt.roomBytes(t.room)/2 {
		return true
	}
	return !b.empty() && now.Sub(b.since) >= max(t.opt.MaxWait, wait)
}

// Drain decides all links offered before the call, and appends the verdicts to dst in order of discovery. Marks, in
// order of partition, are the last records that are now wholly decided and were not before. A URL is new only once:
// from then on it counts as known, though it becomes durable only by Keep. After an error nothing is decided, and the
// next Drain decides exactly the same links; after ErrDamaged, Rebuild first.
//
// O(n) for n waiting links, and a sorted pass over the set.
func (t *Test) Drain(dst []Verdict) (verdicts []Verdict, marks []Mark, err error) {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	if t.taken.empty() {
		t.waiting.Lock()
		t.taken, t.buffer = t.buffer, t.taken
		t.buffer.follow(t.taken)
		t.room = t.opt.Room(t.set.Known())
		t.waiting.Unlock()
	}
	if err := t.lookup(t.taken.links); err != nil {
		return dst, nil, err
	}
	for i := range t.taken.links {
		if v, tell := t.decide(&t.taken.links[i], t.answers[i]); tell {
			dst = append(dst, v)
		}
	}
	maps.Copy(t.marks, t.taken.marks)
	marks = sortedMarks(t.taken.marks)
	t.unkept = t.unkept || len(marks) > 0
	t.taken.clear()
	return dst, marks, nil
}

// lookup makes answers to the links that are in doubt, each at the link's place.
func (t *Test) lookup(links []waiting) error {
	t.questions = t.questions[:0]
	t.answers = slices.Grow(t.answers[:0], len(links))[:len(links)]
	clear(t.answers)
	for i := range links {
		t.answers[i].Asked = links[i].Depth
		if !links[i].settled {
			t.questions = append(t.questions, links[i].entry(uint32(i)))
		}
	}
	return t.set.Lookup(t.questions, t.answers)
}

// decide turns a link into a verdict and notes what Keep must write. tell is false for a known link that adds
// nothing.
func (t *Test) decide(w *waiting, known disk.Answer) (v Verdict, tell bool) {
	if !w.settled && (!known.Known || w.Depth < known.Depth) {
		t.set.Add(w.entry(uint32(w.Depth)), !known.Known)
		t.unkept = true
		return Verdict{Link: w.Link, New: !known.Known}, true
	}
	if w.Cash > 0 {
		return Verdict{Link: w.Link}, true
	}
	return Verdict{}, false
}

// Keep makes durable all that Drain has decided, marks included: all of it or, after a crash or an error, nothing.
// Call it when the verdicts are stored. After an error the decided links stay known in memory, but this Test can no
// longer keep anything: close it.
func (t *Test) Keep() error {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	if !t.unkept {
		return nil
	}
	if err := t.set.Keep(t.marks); err != nil {
		return err
	}
	clear(t.marks)
	t.unkept = false
	return nil
}

// Held returns the memory of the cache and both buffers, as if the other buffer were as full as the active one.
func (t *Test) Held() int64 {
	t.waiting.Lock()
	defer t.waiting.Unlock()
	entry := 10
	if t.cache.purses != nil {
		entry = 18
	}
	return int64(len(t.cache.lowest)*entry + 2*t.buffer.bytes)
}

// Marks returns the durable marks in order of partition. After a restart, offer the records behind them.
func (t *Test) Marks() []Mark {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	return sortedMarks(t.set.Marks())
}

// Known returns how many URLs are known, including those not durable yet.
func (t *Test) Known() int64 {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	return t.set.Known()
}

// rebuildBatch is how many URLs Rebuild looks up at a time.
const rebuildBatch = 1 << 16

// Rebuild replaces the set by the URLs that known yields, and its marks. It uses their URL, Fingerprint and Depth.
// known must yield all that was discovered up to the marks. Links that wait for a Drain stay waiting. The new set is
// durable when Rebuild returns. It also repairs a Test whose Drain or Keep fails because the set is damaged. After an
// error or a crash the set is lost again. A URL may come more than once. Memory does not depend on the number of
// URLs, except for what the set itself keeps of them.
func (t *Test) Rebuild(known iter.Seq[weburl.Link], marks []Mark) error {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	if err := t.set.Reset(); err != nil {
		return err
	}
	t.lost = true
	t.forgetRecent()

	sites := newSites(t.opt.Home)
	batch := make([]disk.Entry, 0, rebuildBatch)
	depths := make([]uint16, 0, rebuildBatch)
	for link := range known {
		w := waiting{Link: link, check: checkOf(secondHash(link.URL)), partition: sites.partition(link.URL.Site())}
		batch = append(batch, w.entry(uint32(len(batch))))
		depths = append(depths, link.Depth)
		if len(batch) == rebuildBatch {
			if err := t.fill(batch, depths); err != nil {
				return err
			}
			batch, depths = batch[:0], depths[:0]
		}
	}
	if err := t.fill(batch, depths); err != nil {
		return err
	}
	durable := map[weburl.Partition]uint64{}
	for _, m := range marks {
		durable[m.Partition] = m.Record
	}
	if err := t.set.Filled(durable); err != nil {
		return err
	}
	t.marks, t.unkept, t.lost = map[weburl.Partition]uint64{}, false, false
	return nil
}

// forgetRecent empties the cache, because a rebuilt set may not know its URLs. Links that the cache settled are in
// doubt again.
func (t *Test) forgetRecent() {
	t.waiting.Lock()
	defer t.waiting.Unlock()
	recalled := t.cache.recalled
	t.cache = newRecent(t.opt.CacheEntries, t.opt.Cash)
	t.cache.recalled = recalled
	t.taken.unsettle()
	t.buffer.unsettle()
}

// fill adds a batch to a set that is being rebuilt. The value of each is the place of its depth.
func (t *Test) fill(batch []disk.Entry, depths []uint16) error {
	t.answers = slices.Grow(t.answers[:0], len(batch))[:len(batch)]
	clear(t.answers)
	if err := t.set.Lookup(batch, t.answers); err != nil {
		return err
	}
	for i := 0; i < len(batch); {
		e, answer := batch[i], t.answers[batch[i].Value]
		lowest := depths[e.Value]
		for i++; i < len(batch) && disk.Same(e, batch[i]); i++ {
			lowest = min(lowest, depths[batch[i].Value])
		}
		if answer.Known && answer.Depth <= lowest {
			continue
		}
		e.Value = uint32(lowest)
		if err := t.set.Fill(e, !answer.Known); err != nil {
			return err
		}
	}
	return nil
}

// Settle waits until all due merges are done. It is for measurements; a crawl never needs it.
func (t *Test) Settle() error {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	return t.set.Settle()
}

// Stats returns figures of the set.
func (t *Test) Stats() disk.Stats {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	return t.set.Stats()
}

// Close closes the set. Decisions that were not kept are lost.
func (t *Test) Close() error {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	return t.set.Close()
}
