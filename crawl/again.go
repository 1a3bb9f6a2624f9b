package crawl

import (
	"fmt"

	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// A new run requests again what the last run could not get: the settings may have changed, and the servers may be up.
// It keeps what servers did answer.

// begunAnew clears what would delay a site in a new run: the wait for an unreachable robots.txt, and a robots.txt that
// has allowed nothing so far. The host's own interval stays, and so does a wait that another answer of the host set.
func begunAnew(info *frontier.SiteInfo, row store.SiteRow) {
	if row.Fetched == 0 && watched(row) {
		info.RobotsUntil = fromUnix(0)
	}
	last := row.Robots.Ended == unix(info.Gate.End)
	if last && row.Robots.Kept == 0 && unanswered(row.Robots.Outcome, row.Robots.Status) {
		info.Gate.Failures = 0
		if free := info.Gate.End.Add(info.Gate.Interval); free.Before(info.Gate.Next) {
			info.Gate.Next = free
		}
	}
}

// obeyAnew checks the refused pages of a site again if its stored robots.txt has other rules for this run, because the
// run has another user agent.
func (s *Shard) obeyAnew(row store.SiteRow) error {
	if row.Robots.Kept == 0 || !watched(row) {
		return nil
	}
	standing, err := s.standing(row.Site)
	if err == nil && standing.Rules.Digest() != row.Robots.Rules {
		s.obeys.waiting[row.Site] = true
	}
	return err
}

// unanswered reports whether a request got no answer, or was not made because of the address guard.
func unanswered(outcome store.Outcome, status int) bool {
	return status == 0 && (outcome == store.OutcomeFailed || outcome == store.OutcomeDenied)
}

// askAgain makes two kinds of pages of a partition due: pages that no earlier run reached, and pages that an earlier
// run cut off at a smaller limit than this run's. O(pages).
func (s *Shard) askAgain(p weburl.Partition) {
	s.whenFree(func() error {
		total, err := s.rows.Counters(p)
		if err != nil {
			return fmt.Errorf("crawl: pages that were not reached: %w", err)
		}
		if total.States[store.StateUnreached] == 0 && total.Outcomes[store.OutcomeDenied] == 0 && total.Truncated == 0 {
			return nil
		}
		now := s.now
		look := func(row store.PageAt) ([]store.Record, error) {
			if !unreached(row.Page) && !s.readsOn(row.Page) || row.LastFetched > now.UnixNano() {
				return nil, nil
			}
			return []store.Record{&store.Planned{Partition: p, Fingerprint: row.Fingerprint, Due: now.UnixNano()}}, nil
		}
		return s.walk(walk{partition: p, look: look, end: func() error { return nil }, yields: true})
	})
}

// unreached reports whether a page was requested and never answered.
func unreached(row store.Page) bool {
	switch row.State {
	case store.StateUnreached, store.StateDenied:
		return row.Visited && row.Strikes < MaxStrikes && row.Reason != store.ReasonType && unanswered(row.Outcome, row.Status)
	}
	return false
}

// readsOn reports whether the last visit cut the page off, the page has no version, and this run would read more of it.
func (s *Shard) readsOn(row store.Page) bool {
	return row.State == store.StateError && row.Truncated == store.TruncatedLength && row.Limit < s.settings.MaxBody
}
