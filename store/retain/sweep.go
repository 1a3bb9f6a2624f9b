package retain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"freshet/store"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// Keep limits how much of the past a crawl keeps. A zero field is no limit. A page's last version always stays, and
// so does everything that a remaining revisit record refers to.
type Keep struct {
	Versions int           // of a page: the last ones
	Age      time.Duration // deletes versions replaced, and captures of visits made, longer ago
	Bytes    int64         // of the directory's WARC files: the oldest past goes first
	// Tombstones is how long the change log keeps the end of a page (gone, moved, withdrawn, purged).
	Tombstones time.Duration
}

// Validate returns all faults of k, joined.
func (k Keep) Validate() error {
	var faults []error
	if k.Versions < 0 {
		faults = append(faults, fmt.Errorf("store: keep %d versions: want 0 or more", k.Versions))
	}
	if k.Age < 0 || k.Tombstones < 0 {
		faults = append(faults, fmt.Errorf("store: keep %v, tombstones %v: want 0 or more", k.Age, k.Tombstones))
	}
	if k.Bytes < 0 {
		faults = append(faults, fmt.Errorf("store: keep %d bytes: want 0 or more", k.Bytes))
	}
	return errors.Join(faults...)
}

// Swept is what a Sweep did and found.
type Swept struct {
	Versions   int64 // deleted
	Captures   int64 // of visits, deleted
	Forgotten  int64 // entries of the change log deleted
	Files      int   // WARC files rewritten
	FreedBytes int64 // of them
	FileBytes  int64 // of all WARC files, after it
	LiveBytes  int64 // … of them, an estimate of what rows point to
}

// Parts of the policy.
const (
	// the part of Keep.Bytes that the past is cut down to, so that some time passes before the next cut
	keepShare    = 7.0 / 8
	fillShare    = 15.0 / 16 // part of Keep.Bytes that files are rewritten down to once they exceed it
	rewriteBelow = 0.5       // share of a file that is live, below which it is rewritten
	worthwhile   = 1.0 / 8   // least part of a file that must become free
	rewriteGroup = 16        // files that are rewritten together
)

// Sweep deletes what keep does not keep as of now. Then, if keep limits versions, age or bytes, it reclaims space:
// it rewrites WARC files that are less than half in use. While there are more bytes than keep.Bytes it rewrites
// others too, those with the least in use first. It also does what FinishPurges does. It may be called while a
// crawl runs. If ctx ends, it stops at the next step. After an error or a crash nothing is lost, and the next call
// does the rest.
//
// It reads all rows of visits and versions three times, each closed WARC file once in its life and once
// when it is rewritten.
func Sweep(ctx context.Context, s *store.Store, keep Keep, now time.Time) (done Swept, err error) {
	if err := keep.Validate(); err != nil {
		return done, err
	}
	if _, err := FinishPurges(ctx, s); err != nil {
		return done, err
	}
	d := directory{s.Inside()}
	defer d.Alone()()
	cut, err := d.cut(ctx, keep, now)
	if err != nil {
		return done, err
	}
	for p := range d.Partitions() {
		if err := d.prune(ctx, weburl.Partition(p), keep.Versions, cut, &done); err != nil {
			return done, err
		}
		if err := d.forget(ctx, weburl.Partition(p), keep.Tombstones, now, &done); err != nil {
			return done, err
		}
	}
	if keep.Versions == 0 && keep.Age == 0 && keep.Bytes == 0 {
		return done, nil
	}
	return done, d.reclaim(ctx, keep.Bytes, &done)
}

// Reclaim rewrites WARC files that are less than half in use, as Sweep does, if an intake may have left captures
// that no row names. It may be called while a crawl runs; it then ends the WARC file that is being written.
func Reclaim(ctx context.Context, s *store.Store) error {
	d := directory{s.Inside()}
	defer d.Alone()()
	intakes, err := d.Unnamed()
	if err != nil || intakes == 0 {
		return err
	}
	if err := d.EndFile(); err != nil {
		return err
	}
	if err := d.reclaim(ctx, 0, new(Swept)); err != nil {
		return err
	}
	return d.Reclaimed(intakes)
}

// cut returns the time, in unix nanoseconds, before which the past is deleted: because of its age, or because the
// bytes exceed the limit.
func (s directory) cut(ctx context.Context, keep Keep, now time.Time) (cut int64, err error) {
	if keep.Age > 0 {
		cut = now.Add(-keep.Age).UnixNano()
	}
	if keep.Bytes == 0 {
		return cut, nil
	}
	use, err := s.fileUse(ctx)
	if err != nil {
		return cut, err
	}
	_, live := use.total()
	over := float64(live) - keepShare*float64(keep.Bytes)
	if over <= 0 {
		return cut, nil
	}
	past, err := s.past(ctx, use)
	if err != nil {
		return cut, err
	}
	for _, hour := range slices.Sorted(maps.Keys(past)) {
		if over <= 0 {
			break
		}
		over -= past[hour]
		cut = max(cut, (hour+1)*int64(time.Hour))
	}
	return cut, nil
}

// past returns the bytes of this crawl that may be deleted, by hour: a cut after the hour deletes them.
func (s directory) past(ctx context.Context, use fileUse) (map[int64]float64, error) {
	past := map[int64]float64{}
	var last pointing // the version before, which the next one replaces
	for p := range s.Partitions() {
		at := place{crawl: s.Crawl, p: weburl.Partition(p), kind: format.KeyVersion}
		last = pointing{}
		err := capturesOf(ctx, s.DB, at, func(v pointing) error {
			if v.page == last.page && last.number != 0 {
				past[v.at/int64(time.Hour)] += use.bytes(last.capture)
			}
			last = v
			return nil
		})
		if err != nil {
			return nil, err
		}
		at.kind = format.KeyVisit
		err = capturesOf(ctx, s.DB, at, func(v pointing) error {
			if !v.shared {
				past[v.at/int64(time.Hour)] += use.bytes(v.capture)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return past, nil
}

// pruneBatch is how many pages are pruned in one batch.
const pruneBatch = 512

// prune drops a partition's past before cut and beyond a number of versions.
func (s directory) prune(ctx context.Context, p weburl.Partition, versions int, cut int64, done *Swept) error {
	if versions == 0 && cut == 0 {
		return nil
	}
	var group []store.Record
	flush := func() error {
		if len(group) == 0 {
			return nil
		}
		_, err := s.Apply(group...)
		group = group[:0]
		return err
	}
	before, err := s.Counters(p)
	if err != nil {
		return err
	}
	for page, err := range s.Pages(p) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if page.State == store.StatePurged || page.FirstSeen >= cut && (versions == 0 || int64(page.Versions-page.Pruned) <= int64(versions)) {
			continue
		}
		record, captures, err := s.excess(p, &page, versions, cut)
		if err != nil {
			return err
		}
		if record == nil {
			continue
		}
		done.Captures += captures
		if group = append(group, record); len(group) == pruneBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	after, err := s.Counters(p)
	done.Versions += after.Pruned - before.Pruned
	return err
}

// excess returns what to delete of a page, nil for nothing.
func (s directory) excess(p weburl.Partition, page *store.PageAt, keep int, cut int64) (*store.Pruned, int64, error) {
	r := &store.Pruned{Partition: p, Fingerprint: page.Fingerprint, Versions: page.Pruned}
	versions, err := s.Versions(p, page.Fingerprint)
	if err != nil {
		return nil, 0, err
	}
	for i := range max(0, len(versions)-1) {
		if versions[i+1].At < cut || keep > 0 && len(versions)-i > keep {
			r.Versions = versions[i].Number
		}
	}
	visits, err := s.Visits(p, page.Fingerprint)
	if err != nil {
		return nil, 0, err
	}
	captures := int64(0)
	for i, number := 0, page.FirstVisit(); i < len(visits); i, number = i+1, number+1 {
		v := &visits[i]
		if v.At < cut {
			r.Visits = number
		}
		if !v.Capture.IsZero() && (v.At < cut || v.Version <= r.Versions) {
			captures++
		}
	}
	if r.Versions == page.Pruned && captures == 0 {
		return nil, 0, nil
	}
	return r, captures, nil
}

// forget deletes entries of the change log for pages that ended too long ago.
func (s directory) forget(ctx context.Context, p weburl.Partition, horizon time.Duration, now time.Time, done *Swept) error {
	if horizon == 0 {
		return nil
	}
	before := now.Add(-horizon).UnixNano()
	for after := uint64(0); ; {
		changes, err := s.Changes(p, after, store.MaxListed)
		if err = errors.Join(err, ctx.Err()); err != nil || len(changes) == 0 {
			return err
		}
		after = changes[len(changes)-1].Record
		r := &store.Forgotten{Partition: p}
		for i := range changes {
			if changes[i].Kind.Ended() && changes[i].At < before {
				r.Changes = append(r.Changes, changes[i].Record)
			}
		}
		if len(r.Changes) == 0 {
			continue
		}
		if _, err := s.Apply(r); err != nil {
			return err
		}
		done.Forgotten += int64(len(r.Changes))
	}
}

// reclaim rewrites WARC files with much unused space.
func (s directory) reclaim(ctx context.Context, limit int64, done *Swept) error {
	tried := map[string]bool{}
	for {
		use, err := s.fileUse(ctx)
		if err != nil {
			return err
		}
		done.FileBytes, done.LiveBytes = use.total()
		group := s.victims(use, limit, tried)
		if len(group) == 0 {
			return nil
		}
		for _, file := range group {
			tried[file] = true
		}
		files, freed, err := s.rewrite(ctx, group, nothing, worthwhile)
		done.Files += files
		done.FreedBytes += freed
		if err != nil {
			return err
		}
	}
}

// victims returns some files to rewrite, those with the least in use first.
func (s directory) victims(use fileUse, limit int64, tried map[string]bool) (group []string) {
	total, _ := use.total()
	fill := int64(fillShare * float64(limit))
	names := slices.SortedFunc(maps.Keys(use), func(a, b string) int {
		return cmp.Or(cmp.Compare(use[a].share(), use[b].share()), cmp.Compare(a, b))
	})
	for _, name := range names {
		f := use[name]
		over := limit > 0 && total > fill && f.share() < 1-worthwhile
		if f.open || tried[name] || f.share() >= rewriteBelow && !over {
			continue
		}
		total -= int64((1 - f.share()) * float64(f.size))
		if group = append(group, name); len(group) == rewriteGroup {
			break
		}
	}
	return group
}

// fileUse is how much of each WARC file is in use.
type fileUse map[string]*inUse

type inUse struct {
	size int64 // bytes
	main int64 // … of records that rows may point to
	live int64 // … of records that rows do point to
	open bool  // it is being written
}

// share returns the part of a file that is in use, in [0, 1]. Only main records count: requests and metadata stay
// or go with them.
func (u *inUse) share() float64 {
	if u.open {
		return 1
	}
	if u.main == 0 {
		return 0
	}
	return min(1, float64(u.live)/float64(u.main))
}

func (f fileUse) total() (size, live int64) {
	for _, u := range f {
		size += u.size
		live += int64(u.share() * float64(u.size))
	}
	return size, live
}

// bytes returns the bytes of a capture in its file, including its request and metadata.
func (f fileUse) bytes(at store.Pointer) float64 {
	u := f[at.File]
	if u == nil || u.main == 0 {
		return float64(at.Length)
	}
	return float64(at.Length) * float64(u.size) / float64(u.main)
}

// fileUse reads all files and all rows that point into them.
func (s directory) fileUse(ctx context.Context) (fileUse, error) {
	use := fileUse{}
	paths, err := s.Files()
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		name, open := strings.CutSuffix(s.FS.PathBase(path), ".open")
		if open {
			info, err := s.FS.Stat(path)
			if err != nil {
				continue // it was closed in the meantime
			}
			use[name] = &inUse{size: info.Size(), open: true}
			continue
		}
		sum, err := s.summaryOf(ctx, name)
		if err != nil {
			return nil, err
		}
		use[name] = &inUse{size: sum.Size, main: sum.Main}
	}
	return use, s.captures(ctx, s.DB, func(at pointing) error {
		if u := use[at.capture.File]; u != nil && !at.shared {
			u.live += at.capture.Length
		}
		return nil
	})
}
