package main

import (
	"errors"
	"path/filepath"
	"time"

	"freshet/clock"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// importSeen adds imported pages to the set of seen URLs. Without it, the next crawl would fill the set from the page
// table before its first request. If it fails, the next crawl does that.
type importSeen struct {
	set      *seen.Test
	damaged  bool
	verdicts []seen.Verdict // reused
}

// importSeenLinks is how many imported pages wait to be looked up.
const importSeenLinks = 1 << 16

// openImportSeen returns the set of a crawl that one shard makes. It is nil if there is no use in adding to it: if it
// is lost, and pages are stored, the next crawl fills it in any case.
func openImportSeen(s *store.Store, data, crawl string) (*importSeen, error) {
	total, err := s.Total()
	if err != nil {
		return nil, err
	}
	set, err := seen.Open(filepath.Join(data, "seen", crawl), seen.Options{Partitions: s.Partitions(), Home: s.Home,
		BufferLinks: importSeenLinks, MaxWait: time.Hour})
	if err != nil {
		return nil, err
	}
	if set.Lost() && total.Pages > 0 {
		return nil, set.Close()
	}
	return &importSeen{set: set}, nil
}

// add adds pages that are stored.
func (i *importSeen) add(pages []weburl.Link) error {
	err := i.set.Offer(seen.Mark{}, pages, clock.Real().Now())
	if errors.Is(err, seen.ErrFull) {
		if err = i.keep(); err == nil && !i.damaged {
			err = i.set.Offer(seen.Mark{}, pages, clock.Real().Now())
		}
	}
	return err
}

// keep makes durable what was added. A damaged set is of no use any more: the next crawl finds it lost.
func (i *importSeen) keep() error {
	if i.damaged {
		return nil
	}
	verdicts, _, err := i.set.Drain(i.verdicts[:0])
	i.verdicts = verdicts
	if err == nil {
		err = i.set.Keep()
	}
	if i.damaged = errors.Is(err, seen.ErrDamaged); i.damaged {
		return nil
	}
	return err
}

func (i *importSeen) close() error {
	return errors.Join(i.keep(), i.set.Close())
}
