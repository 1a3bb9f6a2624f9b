package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sync/semaphore"

	"freshet/crawl"
	"freshet/store"
	"freshet/weburl"
)

// inFlight is the file with the pages that are being processed or committed. It identifies a page that killed the
// process. A mark is written before processing begins, and not synced: it survives the death of the process but not
// of the machine. After an unclean stop every marked page gets a strike. A struck page is then processed and committed
// while no other page is. So a page that kills the process strikes no struck page but itself, and innocent pages lose
// their strike when they are committed.
//
// The file is a table of marks of 16 bytes: the fingerprint in 8, the partition plus one in 4, and the number of the
// page's last visit in 4, in little-endian order. All zeroes is a free place.
type inFlight struct {
	fs   vfs.FS
	path string
	log  *slog.Logger
	room *semaphore.Weighted // a page in the table has a share of it, a struck page all

	mu    sync.Mutex
	file  vfs.File
	image []byte // of the file
	free  []int  // places
	fault error  // of the first write that failed
}

// mark is the place of a page in the table.
type mark struct {
	place int   // plus one; 0: none
	share int64 // of the room
}

// whole is all of the room. Other pages than struck ones have 1.
const whole = math.MaxInt64

const markBytes = 16

// openInFlight opens the file of a crawl, with the marks that the last run left.
func openInFlight(fs vfs.FS, dir, crawl string, log *slog.Logger) (*inFlight, error) {
	f := &inFlight{fs: fs, path: fs.PathJoin(dir, store.InFlightPrefix+crawl), log: log, room: semaphore.NewWeighted(whole)}
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

// maxMarks limits the number of marks that are read, because the file may not be ours.
const maxMarks = 1 << 16

// left returns the marks of the last run.
func (f *inFlight) left() (pages []crawl.Struck) {
	for m := range slices.Chunk(f.image, markBytes) {
		p := binary.LittleEndian.Uint32(m[8:])
		if p == 0 || p > weburl.MaxPartitions {
			continue
		}
		fp := weburl.Fingerprint(binary.LittleEndian.Uint64(m))
		pages = append(pages, crawl.Struck{
			PageKey: crawl.PageKey{Partition: weburl.Partition(p - 1), Fingerprint: fp},
			Visits:  binary.LittleEndian.Uint32(m[12:]),
		})
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

// begin marks a page. If the page must be processed alone, begin waits until no other page is marked. Pages that come
// later wait for it. After the end of ctx begin does not mark.
func (f *inFlight) begin(ctx context.Context, page crawl.Struck, alone bool) mark {
	share := int64(1)
	if alone {
		share = whole
	}
	if f.room.Acquire(ctx, share) != nil {
		return mark{}
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
	binary.LittleEndian.PutUint64(f.image[at:], uint64(page.Fingerprint))
	binary.LittleEndian.PutUint32(f.image[at+8:], uint32(page.Partition)+1)
	binary.LittleEndian.PutUint32(f.image[at+12:], page.Visits)
	f.write(at, at+markBytes)
	return mark{place + 1, share}
}

// end frees the places of pages, in one write.
func (f *inFlight) end(marks []mark) {
	f.mu.Lock()
	from, to := len(f.image), 0
	for _, m := range marks {
		if m.place == 0 {
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
		f.room.Release(m.share)
	}
}

// write writes a part of the image to the file. If that fails, the crawl continues without the file. The caller
// holds the lock.
func (f *inFlight) write(from, to int) {
	if _, err := f.file.WriteAt(f.image[from:to], int64(from)); err != nil && f.fault == nil {
		f.fault = err
		f.log.Error("a page that kills the crawl would not be found: the list of pages in flight cannot be written",
			"error", err)
	}
}

// close closes the file. It removes the file if the crawl ended in order, or if no page is marked in it.
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

// strike adds a strike to each page that the last run was processing at its unclean stop.
func (n *Node) strike() error {
	struck := n.inFlight.left()
	if len(struck) > 0 {
		if _, err := n.order(crawl.Strike{Pages: struck}); err != nil {
			return err
		}
		if err := n.warnOfStruck(struck); err != nil {
			return err
		}
	}
	n.inFlight.clear()
	return nil
}

// warnOfStruck logs which pages are set aside now.
func (n *Node) warnOfStruck(pages []crawl.Struck) error {
	for _, page := range pages {
		if int(page.Partition) >= n.store.Partitions() {
			continue
		}
		row, err := n.store.Page(page.Partition, page.Fingerprint)
		if errors.Is(err, store.ErrNotFound) || err == nil && (row.Visits != page.Visits || row.Strikes < crawl.MaxStrikes) {
			continue
		}
		if err != nil {
			return fmt.Errorf("crawl: struck page %s: %w", page.Fingerprint, err)
		}
		n.opt.Logger.Error("a page is set aside: three runs in a row were cut off while it was processed; recrawl lifts that",
			"url", row.URL.String())
	}
	return nil
}
