package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// homes maps a site to its partition: that of its registrable domain, unless the directory already has the site in
// another. A new list of public suffixes changes domains but moves no known host. Safe for concurrent use.
type homes struct {
	partitions int
	domain     func(weburl.Site) string
	strays     atomic.Pointer[map[string]weburl.Partition] // by name: hosts in another partition than their domain's
}

func newHomes(partitions int, domain func(weburl.Site) string) *homes {
	h := &homes{partitions: partitions, domain: domain}
	h.strays.Store(&map[string]weburl.Partition{})
	return h
}

// of returns the partition of a site.
func (h *homes) of(site weburl.Site) weburl.Partition {
	if strays := *h.strays.Load(); len(strays) > 0 {
		if p, stray := strays[site.Name()]; stray {
			return p
		}
	}
	return weburl.PartitionOf(h.domain(site), h.partitions)
}

// strayed reports whether a host in partition p is a stray: p is not the partition of its domain.
func (h *homes) strayed(name string, p weburl.Partition) bool {
	return name != "" && h.of(weburl.Site("http://"+name)) != p
}

// add adds strays: hosts in another partition than their domain's.
func (h *homes) add(strays map[string]weburl.Partition) {
	all := maps.Clone(*h.strays.Load())
	maps.Copy(all, strays)
	h.strays.Store(&all)
}

// Home returns the partition of a site: that of its registrable domain, unless the host was known before a newer list
// of public suffixes gave it another.
func (s *Store) Home(site weburl.Site) weburl.Partition { return s.homes.of(site) }

// homesKey is outside of every crawl: its value applies to all of them and comes from no record. Without a name the
// value is the version of the list of public suffixes that the strays were found by. With a name it is a stray's
// partition.
func homesKey(name string) []byte { return format.Outside("homes/" + name) }

// openHomes reads the strays. If the list of public suffixes has changed, it checks the names of all sites and
// gates once, and stores the strays that it finds.
func (s *Store) openHomes() error {
	list := s.options.Suffixes
	s.homes = newHomes(s.dir.partitions, list.Domain)
	version, damaged, strays := "", false, map[string]weburl.Partition{}
	prefix := homesKey("")
	from, to := format.Span(prefix)
	err := database.Scan(s.db, from, to, func(key, value []byte) error {
		name := string(key[len(prefix):])
		if name == "" {
			version = string(value)
			return nil
		}
		if damaged = damaged || len(value) != 2; !damaged {
			strays[name] = weburl.Partition(binary.BigEndian.Uint16(value))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store: homes: %w", err)
	}
	if version == list.Version && !damaged {
		s.homes.add(strays)
		return nil
	}
	crawls, err := s.Crawls()
	if err != nil {
		return fmt.Errorf("store: homes: %w", err)
	}
	for _, crawl := range crawls {
		for p := range weburl.Partition(s.dir.partitions) {
			if err := s.findStrays(format.NewKeyspace(crawl), p); err != nil {
				return err
			}
		}
	}
	if s.options.ReadOnly {
		return nil
	}
	return s.keepHomes(true)
}

// findStrays finds the strays in a crawl's partition.
func (s *Store) findStrays(keys format.Keyspace, p weburl.Partition) error {
	strays := map[string]weburl.Partition{}
	for _, kind := range []format.Kind{format.KeySite, format.KeyGate} {
		from, to := keys.KindSpan(p, kind)
		err := database.Scan(s.db, from, to, func(key, _ []byte) error {
			name := weburl.HostName(string(key[len(from):]))
			if kind == format.KeySite {
				name = weburl.Site(key[len(from):]).Name()
			}
			if s.homes.strayed(name, p) {
				strays[name] = p
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("store: homes of partition %d: %w", p, err)
		}
	}
	if len(strays) > 0 {
		s.homes.add(strays)
	}
	return nil
}

// keepHomes stores the strays durably. If all are written, it deletes the old ones.
func (s *Store) keepHomes(all bool) error {
	batch := s.db.NewBatch()
	prefix := homesKey("")
	var errs []error
	if all {
		from, to := format.Span(prefix)
		errs = append(errs, batch.DeleteRange(from, to, nil))
	}
	errs = append(errs, batch.Set(prefix, []byte(s.options.Suffixes.Version), nil))
	for name, p := range *s.homes.strays.Load() {
		errs = append(errs, batch.Set(homesKey(name), binary.BigEndian.AppendUint16(nil, uint16(p)), nil))
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(fmt.Errorf("store: homes: %w", err), batch.Close())
	}
	return database.Commit(batch, pebble.Sync)
}

// learnHomes learns the partitions of hosts from a record of another directory, which may have another list of
// public suffixes. A host's first record is a Discovered, and it names the partition.
func (s *Store) learnHomes(p weburl.Partition, r Record) error {
	found, ok := r.(*Discovered)
	if !ok {
		return nil
	}
	strays := map[string]weburl.Partition{}
	for i := range found.New {
		site := found.New[i].URL.Site()
		if site == "" || !s.homes.strayed(site.Name(), p) {
			continue
		}
		if _, err := s.Site(site); errors.Is(err, ErrNotFound) { // else the site is known, and the record is wrong
			strays[site.Name()] = p
		} else if err != nil {
			return err
		}
	}
	if len(strays) == 0 || s.options.ReadOnly {
		return nil
	}
	s.homes.add(strays)
	return s.keepHomes(false)
}
