package retain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"freshet/store"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// Purge takes pages and sites down permanently: store.BeginPurge and FinishPurges in one, for a directory in
// which no crawl runs.
func Purge(ctx context.Context, s *store.Store, at time.Time, targets ...store.Target) (PurgeReport, error) {
	if _, err := s.BeginPurge(at, targets...); err != nil {
		return PurgeReport{}, err
	}
	return FinishPurges(ctx, s)
}

// PurgeReport is what FinishPurges did.
type PurgeReport struct {
	Targets    []string // what was deleted
	Files      int      // WARC files rewritten
	FreedBytes int64    // of them
}

// FinishPurges deletes from disk the bytes of everything whose purge has begun. It rewrites the WARC files, tables
// and logs that hold any of it, for all crawls. It interrupts snapshots that are being written to standard output.
// It deletes everything that a repair set aside, because the parts of a page in it are unknown. It may be called
// while a crawl runs; it then ends the WARC file that is being written. It reads every WARC file once. After an
// error, or if ctx ends, the next call starts again.
//
// It does not change copies of the directory (snapshots, exports).
func FinishPurges(ctx context.Context, s *store.Store) (report PurgeReport, err error) {
	d := directory{s.Inside()}
	defer d.Alone()()
	all, err := d.Begun()
	if err != nil || len(all) == 0 {
		return report, err
	}
	if err := d.EndFile(); err != nil {
		return report, err
	}
	if err := d.DropCopies(); err != nil {
		return report, err
	}
	hit := store.Hits(all)
	files, err := d.filesWith(ctx, hit)
	if err != nil {
		return report, err
	}
	if report.Files, report.FreedBytes, err = d.rewrite(ctx, files, hit, 0); err != nil {
		return report, err
	}
	if err := d.Settle(ctx); err != nil {
		return report, fmt.Errorf("store: purge: %w", err)
	}
	if err := d.Scrub(ctx, d.partitionsOf(all)); err != nil {
		return report, err
	}
	if err := d.OnPurge(ctx, hit); err != nil {
		return report, fmt.Errorf("store: purge: %w", err)
	}
	for i := range all {
		report.Targets = append(report.Targets, all[i].Target().String())
		if err := d.End(all[i]); err != nil {
			return report, err
		}
	}
	return report, nil
}

// Unfinished reports whether bytes of what was taken down may be on disk, so that FinishPurges has work to do.
func Unfinished(s *store.Store) (bool, error) {
	all, err := s.Inside().Begun()
	return len(all) > 0, err
}

// partitionsOf returns where the targets of purges are.
func (s directory) partitionsOf(all []store.Purging) (places []weburl.Partition) {
	for i := range all {
		places = append(places, s.Home(all[i].Target().Of()))
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// filesWith returns the closed files that hold a record with such a target.
func (s directory) filesWith(ctx context.Context, hit func(target string) bool) (with []string, err error) {
	files, err := s.closedFiles()
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		members, err := s.members(ctx, s.FS.PathJoin(s.Path(format.CapturesDir), file), hit)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(members, func(m member) bool { return m.hit }) {
			with = append(with, file)
		}
	}
	return with, nil
}

// Holding returns the closed WARC files that still hold anything of what was taken down.
func Holding(ctx context.Context, s *store.Store, down []store.Purging) ([]string, error) {
	return directory{s.Inside()}.filesWith(ctx, store.Hits(down))
}
