package robots

import (
	"math"
	"time"

	"freshet/consent"
	"freshet/weburl"
)

// How long answers are valid.
const (
	// Life is how long an answer is valid.
	Life = 24 * time.Hour
	// again is how soon an unreachable robots.txt is requested again if older rules remain in force, and how long pages
	// wait for a tdmrep.json on a host that may not be requested.
	again = time.Hour
	// longestWait bounds the wait between two requests for an unreachable robots.txt.
	longestWait = 4 * time.Hour
	// redirects is how many redirects are followed in a row; RFC 9309 section 2.3.1.2 requires five.
	redirects = 5
)

// Why a page is not fetched.
const (
	ReasonRobots      = "robots"
	ReasonUnreachable = "robots-unreachable"
)

// Standing is what applies to the pages of a site.
type Standing struct {
	Rules  *Rules  // of the last robots.txt that was fetched; never nil
	TDMRep *TDMRep // of the last tdmrep.json; nil: none was asked for
	Closed bool    // no robots.txt was fetched: nothing of the site may be fetched
}

// Allowed reports whether u may be fetched.
func (s Standing) Allowed(u weburl.URL) bool { return !s.Closed && s.Rules.Allowed(u) }

// Reason returns why a page is not allowed.
func (s Standing) Reason() string {
	if s.Closed {
		return ReasonUnreachable
	}
	return ReasonRobots
}

// Signals returns what the site's files say about the use of u.
func (s Standing) Signals(u weburl.URL) consent.Signals {
	return append(s.Rules.Signals(u), s.TDMRep.Signals(u)...)
}

// Answer is the result of a request for a robots.txt or a tdmrep.json.
type Answer struct {
	TDMRep   bool       // it was for a tdmrep.json
	Redirect weburl.URL // where the answer redirects to; zero: it is not a redirect
	Reached  bool       // it was fetched, or the site has none (any 4xx but 429)
	Barred   bool       // no request was made: the address is forbidden
	Body     []byte     // of what was fetched
}

// Verdict is what an answer means for the site. Exactly one of Until, Retry and Next is set.
type Verdict struct {
	Standing Standing
	Fresh    bool       // the file comes from the answer, and replaces the stored one
	Until    time.Time  // Standing holds until then
	Retry    time.Time  // unreachable: request it again then, and no page before
	Shelved  bool       // with Retry: it was tried often enough for a crawl that does not wait
	Next     weburl.URL // request this next: the target of a redirect, or the tdmrep.json if Fresh
}

// Patience is how often an unreachable robots.txt is requested.
type Patience struct {
	First time.Duration // the first wait; each next one is twice as long, up to four hours
	Tries int           // failures in a row after which a site is shelved
}

// Book holds the robots rules of sites, in a bounded number of bytes. It is not safe for concurrent use.
type Book struct {
	agent  string
	tdmrep bool
	rules  *cache[Standing]
	ways   *cache[way]
}

// way is the state of the search for a site's files.
type way struct {
	tdmrep    bool       // robots.txt was fetched: the tdmrep.json is requested
	at        weburl.URL // where a redirect led
	redirects int
	since     time.Time
	late      bool // the tdmrep.json was not requested while robots.txt was valid: it is left out until the next day
	skipped   bool // its owner has opted out: it is not requested
}

// NewBook returns an empty book for an agent. It holds at most the given bytes of rules and drops those used
// longest ago. An eighth of the bytes is for redirects. With tdmrep each site's tdmrep.json is requested after its
// robots.txt.
func NewBook(agent string, tdmrep bool, bytes int64) *Book {
	return &Book{agent: agent, tdmrep: tdmrep, rules: newCache(bytes, Standing.bytes), ways: newCache(bytes/8, way.bytes)}
}

func (s Standing) bytes() int64 { return s.Rules.Bytes() + s.TDMRep.Bytes() }

func (w way) bytes() int64 { return int64(len(w.at.String())) + 64 }

// Bytes returns how much memory the book takes. It is off by a few bytes a site.
func (b *Book) Bytes() int64 { return b.rules.bytes + b.ways.bytes }

// Standing returns what applies to a site. ok is false if the book does not have it; the caller then gets it with
// Read and passes it to Keep.
func (b *Book) Standing(site weburl.Site) (s Standing, ok bool) { return b.rules.get(site) }

// Keep stores what applies to a site.
func (b *Book) Keep(site weburl.Site, s Standing) { b.rules.put(site, s) }

// Read returns what applies to a site by its stored robots.txt and tdmrep.json. If a robots.txt was requested and none
// was fetched, the site is closed.
func (b *Book) Read(body, tdmrep []byte, asked, had bool) Standing {
	return Standing{Rules: Parse(body, b.agent), TDMRep: ParseTDMRep(tdmrep), Closed: asked && !had}
}

// Forget drops what the book has of a site. Another node requests its robots.txt from now on.
func (b *Book) Forget(site weburl.Site) {
	b.rules.drop(site)
	b.ways.drop(site)
}

// Skip sets whether a site's robots.txt is skipped, that is, not requested.
func (b *Book) Skip(site weburl.Site, skipped bool) {
	if skipped {
		b.ways.put(site, way{skipped: true})
	} else {
		b.ways.drop(site)
	}
}

// Skipped returns what Skip last set.
func (b *Book) Skipped(site weburl.Site) bool {
	w, _ := b.ways.get(site)
	return w.skipped
}

// Where returns which file of a site to request next, its robots.txt or its tdmrep.json, and from which URL. If the
// host is so slow that robots.txt has expired before the tdmrep.json has its turn, robots.txt is requested again. The
// pages come next then, so that a slow host does get to them.
func (b *Book) Where(site weburl.Site, now time.Time) (file, at weburl.URL) {
	w, _ := b.ways.get(site)
	if w.tdmrep && now.Sub(w.since) >= Life {
		w = way{late: true, since: now}
		b.ways.put(site, w)
	}
	if file = At(site); w.tdmrep {
		file = TDMRepAt(site)
	}
	if at = w.at; at.IsZero() {
		at = file
	}
	return file, at
}

// Leads returns where a redirect of a site's robots.txt or tdmrep.json led. The file is requested there next. ok is
// false if there is no redirect to follow.
func (b *Book) Leads(site weburl.Site) (at weburl.URL, ok bool) {
	w, _ := b.ways.get(site)
	return w.at, !w.at.IsZero()
}

// Deadline returns the time until which the pages of a site wait for its tdmrep.json. ok is false unless that file is
// next, on a host that may not be requested now. Pages that wait for a robots.txt have no deadline.
func (b *Book) Deadline(site weburl.Site) (at time.Time, ok bool) {
	w, _ := b.ways.get(site)
	return w.since.Add(again), w.tdmrep
}

// At returns the URL of a site's robots.txt.
func At(site weburl.Site) weburl.URL { return wellKnown(site, "/robots.txt") }

// Judge returns what an answer means, and stores it in the book. older is what applied before. For a robots.txt it is
// nil if none was fetched. failures is how often in a row robots.txt could not be fetched before.
//
// If robots.txt is unreachable, older rules remain in force (RFC 9309 section 2.4), and it is requested again
// within the hour. Without older rules everything is forbidden (section 2.3.1.4), and it is requested again
// forever, with growing waits. An outage is not an answer and says nothing about any page.
//
// An unreachable tdmrep.json holds up no page: the older one remains in force.
func (b *Book) Judge(site weburl.Site, a Answer, older *Standing, failures int, patience Patience, now time.Time) Verdict {
	w, _ := b.ways.get(site)
	b.ways.drop(site)
	v := Verdict{Until: now.Add(Life)}
	led := !a.Redirect.IsZero() && w.redirects < redirects
	v.Fresh = !led && (a.Reached || !a.Redirect.IsZero()) // a loop of redirects counts as no file
	if older != nil {
		v.Standing = *older
	}
	switch {
	case led && b.follow(site, way{tdmrep: a.TDMRep, at: a.Redirect, redirects: w.redirects + 1, since: w.begun(now), late: w.late}, now):
		return Verdict{Next: a.Redirect}
	case a.TDMRep:
		v.Until = w.begun(now.Add(again - Life)).Add(Life) // a day after robots.txt
		if soonest := now.Add(again); v.Until.Before(soonest) {
			v.Until = soonest
		}
		if v.Fresh {
			v.Standing.TDMRep = ParseTDMRep(a.Body)
		}
	case v.Fresh:
		v.Standing.Rules, v.Standing.Closed = Parse(a.Body, b.agent), false
		file := TDMRepAt(site)
		if b.tdmrep && !w.late && v.Standing.Allowed(file) && b.follow(site, way{tdmrep: true, since: now}, now) {
			v.Until, v.Next = time.Time{}, file
		}
	case older != nil && !led: // where there is no room for the way, it waits
		v.Until = now.Add(again)
	case a.Barred:
		v.Standing = Standing{Rules: &Rules{}, Closed: true}
	default:
		shelved := failures >= patience.Tries && !led // room comes with another site's answer
		return Verdict{Retry: now.Add(patience.wait(site, failures)), Shelved: shelved}
	}
	b.Keep(site, v.Standing)
	return v
}

// begun returns when the search began, at the latest now.
func (w way) begun(now time.Time) time.Time {
	if w.since.IsZero() {
		return now
	}
	return w.since
}

// follow records where a redirect led, or that the tdmrep.json comes next. It reports false if there is no room: then a
// robots.txt waits, as after a failure. It never drops another site's way that is in use: two sites that dropped each
// other's would ask forever. It drops a way that was not used for longer than an answer holds.
func (b *Book) follow(site weburl.Site, w way, now time.Time) bool {
	for !b.ways.fits(site, w) {
		oldest, other, ok := b.ways.oldest()
		if !ok || !other.skipped && now.Sub(other.since) < Life {
			return false
		}
		b.ways.drop(oldest)
	}
	b.ways.put(site, w)
	return true
}

// wait returns how long to wait before an unreachable robots.txt is requested again. It varies by up to a quarter
// from site to site, so that sites that failed together are not retried together.
func (p Patience) wait(site weburl.Site, failures int) time.Duration {
	wait := float64(p.First) * math.Exp2(float64(min(failures, 40)))
	wait = min(wait, float64(longestWait))
	return time.Duration(wait * (1 + float64(uint64(At(site).Fingerprint())%1024)/4096))
}

// Effect is what happens to a page when the rules of its site change.
type Effect uint8

// The effects.
const (
	Stays    Effect = iota
	Withdraw        // its copy may no longer be served
	Ask             // it may be fetched again
)

// Look returns what the rules mean for a page that is in no queue or has a copy. refused means that an older robots.txt
// forbade the page and it is in no queue. served means that it has a copy, and the copy is served. While robots.txt is
// unreachable and nothing may be fetched, every page stays as it is.
func (s Standing) Look(u weburl.URL, refused, served bool) Effect {
	switch {
	case s.Closed || !refused && !served:
	case s.Rules.Allowed(u):
		if refused {
			return Ask
		}
	case served:
		return Withdraw
	}
	return Stays
}
