package crawl

import (
	"errors"
	"fmt"
	"iter"

	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// ErrElsewhere is the reply to an order about a page, site or host of a partition that another shard owns or that is
// changing owners.
var ErrElsewhere = errors.New("crawl: another shard owns it")

// Elsewhere is the reason in a Reply for a URL in a partition that another shard owns.
const Elsewhere = "elsewhere"

// tenure is a shard's relation to a partition.
type tenure uint8

const (
	elsewhere tenure = iota // another shard owns it, or none
	coming                  // owned, not handed out yet
	serving                 // owned and handed out
	going                   // owned, no longer handed out
)

// tenures returns the initial tenure of each partition. Without a list in the settings the shard owns all.
func tenures(s Settings) ([]tenure, error) {
	all := make([]tenure, s.Partitions)
	if s.Owned == nil {
		for p := range all {
			all[p] = serving
		}
		return all, nil
	}
	for _, p := range s.Owned {
		if int(p) >= len(all) {
			return nil, fmt.Errorf("crawl: owned partition %d: want one below %d", p, len(all))
		}
		all[p] = serving
	}
	return all, nil
}

func (s *Shard) owns(p weburl.Partition) bool { return s.tenures[p] != elsewhere }

func (s *Shard) serves(p weburl.Partition) bool { return s.tenures[p] == serving }

// alone reports whether the shard is the only one of its crawl.
func (s *Shard) alone() bool { return s.settings.Owned == nil }

// owned iterates over the partitions that the shard owns.
func (s *Shard) owned() iter.Seq[weburl.Partition] {
	return func(yield func(weburl.Partition) bool) {
		for p := range weburl.Partition(len(s.tenures)) {
			if s.owns(p) && !yield(p) {
				return
			}
		}
	}
}

// ownedMarks returns the marks of owned partitions. A seen test keeps the marks of partitions that were given away.
func (s *Shard) ownedMarks(marks []seen.Mark) []seen.Mark {
	var owned []seen.Mark
	for _, mark := range marks {
		if s.owns(mark.Partition) {
			owned = append(owned, mark)
		}
	}
	return owned
}

// ownedRecords returns the records for owned partitions. A finder also counts refusals of links to other shards' sites,
// which no record counts.
func (s *Shard) ownedRecords(records []store.Record) []store.Record {
	var owned []store.Record
	for _, r := range records {
		if found, ok := r.(*store.Discovered); !ok || s.owns(found.Partition) {
			owned = append(owned, r)
		}
	}
	return owned
}

// here returns ErrElsewhere unless the shard hands out the pages of the site's partition.
func (s *Shard) here(site weburl.Site) error {
	if s.serves(s.home(site)) {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrElsewhere, site)
}
