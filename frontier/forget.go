package frontier

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"freshet/weburl"
)

// HostGate is the gate of a host.
type HostGate struct {
	Host weburl.Site // any of its sites
	Gate Gate
}

// Withhold stops handing out pages of the held sites for which which returns true, until Forget. Requests in flight go
// on. O(sites).
func (f *Frontier) Withhold(which func(weburl.Site) bool, now time.Time) {
	t := f.tick(now)
	for _, s := range f.those(which) {
		s.paused = true
		f.changed(s, t)
	}
}

// those returns the held sites for which which returns true, by name.
func (f *Frontier) those(which func(weburl.Site) bool) []*site {
	var some []*site
	for name, s := range f.sites {
		if which(name) {
			some = append(some, s)
		}
	}
	slices.SortFunc(some, func(a, b *site) int { return cmp.Compare(a.name, b.name) })
	return some
}

// Forget drops the held sites for which which returns true, because another frontier has their pages from now on. It
// also drops hosts that have no other sites, and returns their gates, and hosts that are held for a Block alone. It
// panics if a page of a dropped site is in flight. O(sites + hosts).
func (f *Frontier) Forget(which func(weburl.Site) bool, now time.Time) []HostGate {
	t := f.tick(now)
	var gates []HostGate
	for _, s := range f.those(which) {
		h := s.host
		if h.flight != nil {
			panic(fmt.Sprintf("frontier: Forget: a page of %s is in flight", s.name))
		}
		f.shelve(s, false)
		f.queued[KindNew] -= s.fresh.length()
		f.queued[KindDue] -= s.due.length()
		delete(f.sites, s.name)
		h.sites = slices.DeleteFunc(h.sites, func(other *site) bool { return other == s })
		if h.open == s {
			h.open = nil
		}
		if len(h.sites) == 0 {
			gates = append(gates, HostGate{s.name, h.gate()})
			f.drop(h)
			continue
		}
		f.slow(h)
		f.update(h, t)
	}
	for name, h := range f.hosts {
		if len(h.sites) == 0 && which(weburl.Site("http://"+name)) {
			f.drop(h) // its gate is stored: no request has changed it
		}
	}
	return gates
}

// drop removes a host that has no sites.
func (f *Frontier) drop(h *host) {
	for i := range f.heaps {
		f.heaps[i].set(h, false)
	}
	f.open = slices.DeleteFunc(f.open, func(other *host) bool { return other == h })
	if a := h.address; a != nil {
		a.waiters = slices.DeleteFunc(a.waiters, func(other *host) bool { return other == h })
		f.bind(h, nil)
	}
	f.hostsIn[h.state]--
	delete(f.hosts, h.name)
}
