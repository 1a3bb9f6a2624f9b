package crawl

import (
	"fmt"

	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// Queues returns the stored queues in the frontier's form.
func Queues(rows Rows) frontier.Queues {
	return queues{rows, func(weburl.Site, store.Entry) (bool, error) { return false, nil }}
}

type queues struct {
	rows  Rows
	hides func(weburl.Site, store.Entry) (bool, error) // reports whether a due page is hidden from the frontier
}

// Read implements frontier.Queues.
func (q queues) Read(dst []frontier.Entry, site weburl.Site, kind frontier.Kind, after frontier.Key, n int) ([]frontier.Entry, error) {
	queue := store.NewQueue
	if kind == frontier.KindDue {
		queue = store.DueQueue
	}
	for most := len(dst) + n; len(dst) < most; {
		wanted := most - len(dst)
		entries, err := q.rows.ReadQueue(nil, site, queue, store.Key(after), wanted)
		if err != nil {
			return dst, err
		}
		for _, e := range entries {
			after = frontier.Key(e.Key)
			if kind == frontier.KindDue {
				hidden, err := q.hides(site, e)
				if err != nil {
					return dst, err
				}
				if hidden {
					continue
				}
			}
			dst = append(dst, frontier.Entry{Key: after, Fingerprint: e.Fingerprint, Cash: e.Cash})
		}
		if len(entries) < wanted {
			break
		}
	}
	return dst, nil
}

// queues returns the queues that the shard's frontier reads.
func (s *Shard) queues() queues { return queues{s.rows, s.planned} }

// planned reports whether a due page stays where it is in a crawl that neither refreshes nor waits, because an earlier
// crawl planned a later visit. A crawl that waits takes such a page at its time: it cannot tell the page from one that
// was ordered before the clock was set back.
func (s *Shard) planned(site weburl.Site, e store.Entry) (bool, error) {
	if s.settings.Refresh != nil || s.settings.Wait || !fromUnix(int64(e.Key.Order)).After(s.now) {
		return false, nil
	}
	row, err := s.rows.Page(s.home(site), e.Fingerprint)
	if err != nil {
		return false, fmt.Errorf("crawl: page %s queued at %s: %w", e.Fingerprint, site, err)
	}
	return !s.retries(row), nil
}

// retries reports whether a page waits because its last visit failed.
func (s *Shard) retries(row store.Page) bool {
	return row.Outcome == store.OutcomeMissing || row.FailedInRow > 0 && int(row.FailedInRow) <= s.settings.Retries
}

// siteInfo returns the stored state of a site that the frontier may see.
func (s *Shard) siteInfo(site weburl.Site) (frontier.SiteInfo, error) {
	info, err := ReadSite(s.rows, s.standing, site)
	if err != nil || info.Due == 0 {
		return info, err
	}
	first, err := s.queues().Read(nil, site, frontier.KindDue, frontier.Key{}, 1)
	if err != nil {
		return info, fmt.Errorf("crawl: restore %s: %w", site, err)
	}
	if len(first) == 0 {
		info.Due, info.FirstDue = 0, frontier.Key{}
	} else {
		info.FirstDue = first[0].Key
	}
	return info, nil
}
