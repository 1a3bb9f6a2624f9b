package crawl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/weburl"
)

// MaxStrikes is how many unclean stops in a row may meet a page while it is processed before it is set aside.
const MaxStrikes = 3

// reasonCrashes is why a page that was set aside is refused.
const reasonCrashes = store.ReasonCrashes

// inFlight is the file that names the pages which are being processed or committed, so that a page that kills the
// process is known after it. A mark is written before the processing begins, and not synced: that outlives the
// process, though not the machine. A page that was met by an unclean stop gets a strike. Struck pages are processed
// one at a time from then on, until they are committed. So a page that kills the process strikes no other
// struck page, and those that were merely beside it lose their strike when they are committed.
//
// The file is a table of marks of 16 bytes: the fingerprint in 8, the partition plus one in 4, and the number of the
// page's last visit in 4, in little-endian order. All zeroes is a free place.
type inFlight struct {
	fs   vfs.FS
	path string
	log  *slog.Logger
	lane chan struct{} // a token: held by the one struck page that is processed

	mu    sync.Mutex
	file  vfs.File
	image []byte // of the file
	free  []int  // places
	fault error  // of the first write that failed
}

// marked is what a mark says. A page that has more visits by now was committed after all.
type marked struct {
	page   pageKey
	visits uint32
}

// mark is a page's place in the table.
type mark struct {
	place int // plus one; 0: none
	alone bool
}

const markBytes = 16

// openInFlight opens the file of a crawl, with what the last run has left in it.
func openInFlight(fs vfs.FS, dir, crawl string, log *slog.Logger) (*inFlight, error) {
	f := &inFlight{fs: fs, path: fs.PathJoin(dir, store.InFlightPrefix+crawl), log: log, lane: make(chan struct{}, 1)}
	file, err := fs.OpenReadWrite(f.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("crawl: open the list of pages in flight: %w", err)
	}
	info, err := file.Stat()
	if err == nil {
		f.image = make([]byte, min(info.Size(), maxMarks*markBytes)/markBytes*markBytes)
		_, err = file.ReadAt(f.image, 0)
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("crawl: read the list of pages in flight: %w", err), file.Close())
	}
	f.file = file
	return f, nil
}

// maxMarks bounds what is read of a file that may not be ours.
const maxMarks = 1 << 16

// left returns the marks that the last run has left.
func (f *inFlight) left() (pages []marked) {
	for m := range slices.Chunk(f.image, markBytes) {
		p := binary.LittleEndian.Uint32(m[8:])
		if p == 0 || p > weburl.MaxPartitions {
			continue
		}
		key := pageKey{weburl.Partition(p - 1), weburl.Fingerprint(binary.LittleEndian.Uint64(m))}
		pages = append(pages, marked{key, binary.LittleEndian.Uint32(m[12:])})
	}
	return pages
}

// clear frees all places.
func (f *inFlight) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.image)
	f.free = f.free[:0]
	for i := len(f.image)/markBytes - 1; i >= 0; i-- {
		f.free = append(f.free, i)
	}
	f.write(0, len(f.image))
}

// begin marks a page. It waits if the page is to be processed alone and another such page is.
func (f *inFlight) begin(m marked, alone bool) mark {
	if alone {
		f.lane <- struct{}{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.free) == 0 {
		f.free = append(f.free, len(f.image)/markBytes)
		f.image = append(f.image, make([]byte, markBytes)...)
	}
	last := len(f.free) - 1
	place := f.free[last]
	f.free = f.free[:last]
	at := place * markBytes
	binary.LittleEndian.PutUint64(f.image[at:], uint64(m.page.fingerprint))
	binary.LittleEndian.PutUint32(f.image[at+8:], uint32(m.page.partition)+1)
	binary.LittleEndian.PutUint32(f.image[at+12:], m.visits)
	f.write(at, at+markBytes)
	return mark{place + 1, alone}
}

// end frees the places of pages, in one write. Where keep is set the marks stay: the pages were not committed.
func (f *inFlight) end(marks []mark, keep bool) {
	f.mu.Lock()
	from, to := len(f.image), 0
	for _, m := range marks {
		if m.place == 0 || keep {
			continue
		}
		at := (m.place - 1) * markBytes
		clear(f.image[at : at+markBytes])
		from, to = min(from, at), max(to, at+markBytes)
		f.free = append(f.free, m.place-1)
	}
	if from < to {
		f.write(from, to)
	}
	f.mu.Unlock()
	for _, m := range marks {
		if m.alone {
			<-f.lane
		}
	}
}

// write brings a part of the image into the file. If it cannot, the crawl goes on without. The lock is held.
func (f *inFlight) write(from, to int) {
	if _, err := f.file.WriteAt(f.image[from:to], int64(from)); err != nil && f.fault == nil {
		f.fault = err
		f.log.Error("a page that kills the crawl would not be found: the list of pages in flight cannot be written", "error", err)
	}
}

// close closes the file. It is removed if the crawl ended in order, or if no page is marked in it.
func (f *inFlight) close(orderly bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.file.Close()
	if orderly || !slices.ContainsFunc(f.image, func(b byte) bool { return b != 0 }) {
		err = errors.Join(err, f.fs.Remove(f.path))
	}
	if err != nil {
		return fmt.Errorf("crawl: close the list of pages in flight: %w", err)
	}
	return nil
}

// begin marks a visit's page as one that is processed.
func (e *Engine) begin(v *visit) {
	if !e.broken.Load() && !v.page.Robots {
		key := pageKey{e.partition(v.page.Site), v.page.Fingerprint}
		v.mark = e.inFlight.begin(marked{key, v.row.Visits}, v.row.Strikes > 0)
	}
}

// end takes back the marks of visits. After a fault they stay, as it may be one of these pages that brought it.
func (e *Engine) end(group []*visit) {
	marks := make([]mark, len(group))
	for i, v := range group {
		marks[i] = v.mark
	}
	e.inFlight.end(marks, e.broken.Load())
}

// strike gives a strike to each page that the last run was processing when it was cut off, and sets aside those
// that have too many.
func (e *Engine) strike() error {
	now := e.opt.Clock.Now().UnixNano()
	var records []store.Record
	for _, left := range e.inFlight.left() {
		key := left.page
		if int(key.partition) >= e.store.Partitions() {
			continue
		}
		row, err := e.store.Page(key.partition, key.fingerprint)
		if errors.Is(err, store.ErrNotFound) || err == nil && row.Visits != left.visits {
			continue
		}
		if err != nil {
			return fmt.Errorf("crawl: strike page %s: %w", key.fingerprint, err)
		}
		strikes := min(row.Strikes+1, MaxStrikes)
		records = append(records, &store.Struck{Partition: key.partition, Fingerprint: key.fingerprint, Strikes: strikes})
		if strikes == MaxStrikes {
			records = append(records, &store.Refused{URL: row.URL, At: now, Reason: reasonCrashes})
			e.tally.countRefused(reasonCrashes, 1)
			e.opt.Logger.Error("a page is set aside: three runs in a row were cut off while it was processed; recrawl lifts that",
				"url", row.URL.String())
		}
	}
	if len(records) > 0 {
		if _, err := e.store.Apply(records...); err != nil {
			return fmt.Errorf("crawl: strike %d pages: %w", len(records), err)
		}
	}
	e.inFlight.clear()
	return nil
}
