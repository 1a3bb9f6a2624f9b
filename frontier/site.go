package frontier

import (
	"slices"
	"time"

	"freshet/weburl"
)

// site is a site with its two queues. No part of it grows with the number of queued pages.
type site struct {
	name       weburl.Site
	host       *host
	fresh      window  // of new pages
	due        *window // of due pages; nil until there is one
	taken      []taken // handed out and not yet Committed or Returned: few
	cash       float64 // of the new pages
	robots     instant // until when robots.txt is valid
	retry      instant // when to try an unreachable robots.txt again; no request before
	failures   int32   // times in a row that robots.txt could not be fetched
	shelved    bool    // see RobotsUnreachable
	watched    bool    // see WatchRobots
	crawlDelay time.Duration
	manners    *Manners // nil: none of its own
	paused     bool     // by an operator
}

// taken is a page that was handed out and may still be in the store.
type taken struct {
	fingerprint weburl.Fingerprint
	kind        Kind
	gone        bool // it has left its stored queue in the meantime: it is not put back
}

func (s *site) window(k Kind) *window {
	if k == KindNew {
		return &s.fresh
	}
	if s.due == nil {
		s.due = new(window)
	}
	return s.due
}

func (s *site) isTaken(fp weburl.Fingerprint, k Kind) bool { return s.takenAt(fp, k) >= 0 }

// takenAt returns the index in taken of a page of a queue, or -1.
func (s *site) takenAt(fp weburl.Fingerprint, k Kind) int {
	return slices.IndexFunc(s.taken, func(t taken) bool { return t.fingerprint == fp && t.kind == k })
}

// untake records that a page is no longer handed out. It reports whether the page was handed out and is still in its
// stored queue.
func (s *site) untake(fp weburl.Fingerprint, k Kind) bool {
	i := s.takenAt(fp, k)
	if i < 0 {
		return false
	}
	stored := !s.taken[i].gone
	last := len(s.taken) - 1
	s.taken[i] = s.taken[last]
	if s.taken = s.taken[:last]; last == 0 {
		s.taken = nil
	}
	return stored
}

// opens returns the first instant, not before from, at which the site may be requested; its host may still be shut.
func (s *site) opens(from instant) instant { return s.admits(max(from, s.retry)) }

// admits returns the first instant, not before from, at which the operator's rules allow a request to the site.
func (s *site) admits(from instant) instant {
	if s.paused {
		return never
	}
	return s.manners.opens(from)
}

// readyAt returns when, not before now, the site's first new page and its first due page may be fetched if its host is
// open from opens. A kind without pages returns never.
func (s *site) readyAt(opens, now instant) (fresh, due instant) {
	fresh, due = never, never
	if opens = max(opens, now); opens != never {
		opens = s.opens(opens)
	}
	if _, ok := s.fresh.top(); ok {
		fresh = opens
	}
	if k, ok := s.due.top(); ok {
		due = max(opens, dueAt(k))
	}
	if s.watched {
		due = min(due, max(opens, s.robots))
	}
	return fresh, due
}

// state returns what an Ordering may know of the site.
func (s *site) state() SiteState {
	top, _ := s.fresh.top()
	return SiteState{Queued: s.fresh.length(), Top: top, Cash: s.cash}
}

// dueKey ranks the site among those with due pages. It is the key of the first one. If the site is only watched, it is
// the time at which its robots.txt is requested.
func (s *site) dueKey() Key {
	k, ok := s.due.top()
	if !ok {
		k.Order = uint64(max(s.robots, s.retry))
	}
	return k
}

// isEmpty reports whether no page of the site is queued or handed out.
func (s *site) isEmpty() bool {
	return s.fresh.length() == 0 && s.due.length() == 0 && len(s.taken) == 0
}

// account updates the counts after n pages, with this cash in total, joined a window's queue or, for negative n, left
// it. Calls may lag behind what was read. So pages in memory count before their call, and the count is 0 if neither
// memory nor the store has any.
func (f *Frontier) account(s *site, k Kind, n int, cash float64) {
	w := s.window(k)
	count := max(w.count+n, len(w.entries))
	if len(w.entries) == 0 && !w.more {
		count = 0
	}
	f.queued[k] += count - w.count
	if s.shelved {
		f.shelved += count - w.count
	}
	w.count = count
	if k == KindNew {
		s.cash += cash
		if count == 0 {
			s.cash = 0 // removes the rounding error
		}
	}
}

// enter puts a new entry into its window, unless it was already read or handed out.
func (f *Frontier) enter(s *site, k Kind, e Entry) {
	if i := s.takenAt(e.Fingerprint, k); i >= 0 {
		s.taken[i].gone = false
	} else if s.window(k).place(e) {
		f.account(s, k, 1, e.Cash)
	}
}

// leave removes an entry that is not handed out.
func (f *Frontier) leave(s *site, k Kind, e Entry) {
	w := s.window(k)
	if w.drop(e.Key) || w.extends() {
		w.head = Key{} // it may have been this entry's key
		f.account(s, k, -1, -e.Cash)
	}
}

// settle reads the first entries of a queue if only their existence is known.
func (f *Frontier) settle(s *site, k Kind) {
	if k == KindDue && s.due == nil {
		return
	}
	if w := s.window(k); len(w.entries) == 0 && w.more && w.head == (Key{}) {
		f.fill(s, k)
	}
}

func (f *Frontier) fill(s *site, k Kind) {
	if f.err != nil {
		return
	}
	f.err = s.window(k).fill(func(after Key) (_ []Entry, err error) {
		f.read, err = f.queues.Read(f.read[:0], s.name, k, after, windowSize)
		return f.read, err
	}, func(fp weburl.Fingerprint) bool { return s.isTaken(fp, k) })
	f.account(s, k, 0, 0)
}

// pop hands out the first page of a queue.
func (f *Frontier) pop(s *site, k Kind) (Entry, bool) {
	w := s.window(k)
	if len(w.entries) == 0 {
		f.fill(s, k)
	}
	if len(w.entries) == 0 {
		return Entry{}, false
	}
	e := w.pop()
	f.account(s, k, -1, -e.Cash)
	s.taken = append(s.taken, taken{fingerprint: e.Fingerprint, kind: k})
	return e, true
}
