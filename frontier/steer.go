package frontier

import (
	"fmt"
	"time"

	"freshet/weburl"
)

// Reload applies other options, except Taken and the ordering, by which the queues are sorted already. A longer delay
// counts from a host's last answer, a shorter one from its next. Reload returns the error of Options.Validate; then no
// option has changed. O(hosts × log hosts).
func (f *Frontier) Reload(o Options, now time.Time) error {
	if err := o.Validate(); err != nil {
		return fmt.Errorf("frontier: reload: %w", err)
	}
	o.Ordering, o.Taken = f.options.Ordering, f.options.Taken
	o.PerConnection = max(1, o.PerConnection)
	f.options = o
	f.SetDiscoveryShare(o.DiscoveryShare)
	t := f.tick(now)
	for _, h := range f.hosts {
		for _, s := range h.sites {
			f.setManners(s)
		}
		f.slow(h)
		f.update(h, t)
	}
	return nil
}

// Steer reads the manners of a site again. A longer wait counts from its host's last answer, a shorter one from its
// next. If the site is not held, Steer does nothing: its manners are read when it comes. O(log hosts).
func (f *Frontier) Steer(site weburl.Site, now time.Time) {
	t := f.tick(now)
	if s := f.sites[site]; s != nil {
		f.setManners(s)
		f.slow(s.host)
		f.update(s.host, t)
	}
}

// SetDiscoveryShare changes Options.DiscoveryShare to share, in [0, 1].
func (f *Frontier) SetDiscoveryShare(share float64) { f.share = int(share*whole + 0.5) }

// PauseAll stops handing out pages, or resumes it.
func (f *Frontier) PauseAll(paused bool) { f.paused = paused }

// Pause stops or resumes requests to a site. A request in flight goes on. Pause does nothing if the site is not held:
// Restore reads the pause from the store. O(log hosts).
func (f *Frontier) Pause(site weburl.Site, paused bool, now time.Time) {
	t := f.tick(now)
	s := f.sites[site]
	if s == nil {
		return
	}
	s.paused = paused
	f.changed(s, t)
}

// Block stops requests to a host until until, or forever if until is zero, and returns the gate to store. A request in
// flight goes on.
func (f *Frontier) Block(host string, until, now time.Time) Gate {
	if until.IsZero() {
		return f.setBlocked(host, never, now)
	}
	return f.setBlocked(host, at(until), now)
}

// Reopen applies the stored gate of a host that is not held, as Restore does, so that Block and Unblock keep the rest
// of the gate.
func (f *Frontier) Reopen(host string, g Gate, now time.Time) {
	t := f.tick(now)
	if host = weburl.HostName(host); f.hosts[host] == nil {
		f.reopen(f.lookupHost(host, t), g, t)
	}
}

// Unblock lifts a Block and returns the gate to store.
func (f *Frontier) Unblock(host string, now time.Time) Gate { return f.setBlocked(host, 0, now) }

func (f *Frontier) setBlocked(name string, until instant, now time.Time) Gate {
	t := f.tick(now)
	h := f.lookupHost(weburl.HostName(name), t)
	h.blocked = until
	h.open = nil
	f.update(h, t)
	return h.gate()
}
