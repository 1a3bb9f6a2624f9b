package robots

import (
	"fmt"
	"math"
	"time"

	"freshet/weburl"
)

// How long things hold.
const (
	// Life is how long an answer holds.
	Life = 24 * time.Hour
	// again is how soon robots.txt is asked for again where older rules go on because it is out of reach.
	again = time.Hour
	// longestWait bounds the wait between two requests for a robots.txt that is out of reach.
	longestWait = 4 * time.Hour
	// redirects is how many are followed in a row; RFC 9309 section 2.3.1.2 asks for five.
	redirects = 5
)

// Why a page is not fetched.
const (
	ReasonRobots      = "robots"
	ReasonUnreachable = "robots-unreachable"
)

// Standing is what holds for the pages of a site.
type Standing struct {
	Rules  *Rules // of the last robots.txt that was fetched; never nil
	Closed bool   // none was fetched: nothing of the site may be fetched
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

// Answer is what came of a request for a robots.txt.
type Answer struct {
	Redirect weburl.URL // where it lies instead; zero: it is no redirect
	Reached  bool       // it was fetched, or the site has none (any 4xx but 429)
	Barred   bool       // no request was made: the address is none that may be asked
	Body     []byte     // of what was fetched
}

// Verdict is what an answer means for the site. Exactly one of Until, Retry and Next is set.
type Verdict struct {
	Standing Standing
	Fresh    bool       // Standing is what the answer says, and replaces what is stored
	Until    time.Time  // Standing holds until then
	Retry    time.Time  // out of reach: to be asked for again then, and no page before
	Shelved  bool       // with Retry: it has been tried often enough for a crawl that does not wait
	Next     weburl.URL // it lies elsewhere: to be asked for there
}

// Patience says how often a robots.txt that is out of reach is asked for.
type Patience struct {
	First time.Duration // the first wait; each further one is twice as long, up to four hours
	Tries int           // failures in a row after which a site is shelved
}

// Book keeps what sites ask, in a bounded number of bytes. It is not safe for concurrent use.
type Book struct {
	agent string
	rules *cache[Standing]
	ways  *cache[way]
}

// way is how far the search for a site's robots.txt has come.
type way struct {
	at        weburl.URL // where a redirect led
	redirects int
	since     time.Time
	skipped   bool // its owner has opted out: it is not asked for
}

// NewBook returns an empty book for an agent. It holds at most bytes of rules, those last used; an
// eighth of that is for redirects on the way.
func NewBook(agent string, bytes int64) *Book {
	return &Book{agent: agent, rules: newCache(bytes, Standing.bytes), ways: newCache(bytes/8, way.bytes)}
}

func (s Standing) bytes() int64 { return s.Rules.Bytes() }

func (w way) bytes() int64 { return int64(len(w.at.String())) + 64 }

// Bytes returns how much memory the book takes, up to some bytes a site.
func (b *Book) Bytes() int64 { return b.rules.bytes + b.ways.bytes }

// Standing returns what holds for a site. ok is false if the book does not have it: it is read back with
// Read, and kept with Keep.
func (b *Book) Standing(site weburl.Site) (s Standing, ok bool) { return b.rules.get(site) }

// Keep notes what holds for a site.
func (b *Book) Keep(site weburl.Site, s Standing) { b.rules.put(site, s) }

// Read returns what holds for a site by the robots.txt that is stored of it. Where one was asked for and
// none was fetched, the site is closed.
func (b *Book) Read(body []byte, asked, had bool) Standing {
	return Standing{Rules: Parse(body, b.agent), Closed: asked && !had}
}

// Forget drops what the book has of a site: somebody else asks for its robots.txt from now on.
func (b *Book) Forget(site weburl.Site) {
	b.rules.drop(site)
	b.ways.drop(site)
}

// Skip notes that a site's robots.txt is not asked for, or is again.
func (b *Book) Skip(site weburl.Site, skipped bool) {
	if skipped {
		b.ways.put(site, way{skipped: true})
	} else {
		b.ways.drop(site)
	}
}

// Skipped reports whether Skip was last told so.
func (b *Book) Skipped(site weburl.Site) bool {
	w, _ := b.ways.get(site)
	return w.skipped
}

// Where returns where a site's robots.txt is asked for next.
func (b *Book) Where(site weburl.Site) weburl.URL {
	if w, ok := b.ways.get(site); ok && !w.at.IsZero() {
		return w.at
	}
	return At(site)
}

// At returns where a site's robots.txt lies.
func At(site weburl.Site) weburl.URL {
	u, err := site.Root().Parse("/robots.txt")
	if err != nil {
		panic(fmt.Sprintf("robots: robots.txt of %s: %v", site, err)) // a site is canonical
	}
	return u
}

// Judge says what an answer means, and notes it for the pages that come after. Older are the rules that
// were had last, nil if none were; failures is how often in a row robots.txt could not be fetched before.
//
// Where it is out of reach, older rules go on (RFC 9309 section 2.4) and it is asked for again within the
// hour. Without them everything is forbidden (section 2.3.1.4) and it is asked for again with growing
// waits, for ever: an outage is not an answer, and says nothing about any page.
func (b *Book) Judge(site weburl.Site, a Answer, older *Rules, failures int, patience Patience, now time.Time) Verdict {
	w, _ := b.ways.get(site)
	b.ways.drop(site)
	v := Verdict{Until: now.Add(Life)}
	led := !a.Redirect.IsZero() && w.redirects < redirects
	switch {
	case led && b.follow(site, way{at: a.Redirect, redirects: w.redirects + 1, since: now}, now):
		return Verdict{Next: a.Redirect}
	case !led && (a.Reached || !a.Redirect.IsZero()): // a ring of redirects is none at all
		v.Standing, v.Fresh = Standing{Rules: Parse(a.Body, b.agent)}, true
	case older != nil:
		v.Standing, v.Until = Standing{Rules: older}, now.Add(again)
	case a.Barred:
		v.Standing = Standing{Rules: &Rules{}, Closed: true}
	default:
		return Verdict{Retry: now.Add(patience.wait(site, failures)), Shelved: failures >= patience.Tries}
	}
	b.Keep(site, v.Standing)
	return v
}

// follow notes where a redirect led. Ways that others are on stay: two sites that pushed each other out would ask for
// ever. Where there is no room it is as if nothing had been had, and the site waits. A way that nobody has come back to
// for so long that its answer would not hold any more goes.
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

// wait returns how long a robots.txt that was out of reach is left alone. It is shifted by up to a
// quarter, so that sites which failed together do not come back together.
func (p Patience) wait(site weburl.Site, failures int) time.Duration {
	wait := float64(p.First) * math.Exp2(float64(min(failures, 40)))
	wait = min(wait, float64(longestWait))
	return time.Duration(wait * (1 + float64(uint64(At(site).Fingerprint())%1024)/4096))
}

// Effect is what becomes of a page when the rules of its site are others.
type Effect uint8

// The effects.
const (
	Stays    Effect = iota
	Withdraw        // its copy may no longer be served
	Ask             // it may be fetched again
)

// Look says what the rules mean for a page that waits in no queue or has a copy. Refused says that it was
// refused for what an older robots.txt said, and waits for nothing; served that it has a copy which is
// served. Where nothing may be asked for because robots.txt is out of reach, every page stays as it is.
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
