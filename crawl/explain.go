package crawl

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"freshet/crawl/discovery"
	"freshet/crawl/robots"
	"freshet/fetch"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// Explanation tells of one URL which gates of the crawl it met, in the order in which a URL meets them,
// and what became of it.
type Explanation struct {
	URL string `json:"url"` // canonical; as it was given where it is no URL
	// StoppedBy is the first gate that stopped the URL or, if none did, the first at which it waits;
	// empty for a page that is stored. Reason is that gate's.
	StoppedBy string     `json:"stopped_by"`
	Reason    string     `json:"reason"`
	NextDue   *time.Time `json:"next_due"` // when it may be fetched next; absent: not at all, or not known
	Why       string     `json:"why"`      // a sentence for people
	Gates     []Checked  `json:"gates"`
}

// Checked is what one gate said.
type Checked struct {
	// Gate is "syntax", "scope", "guard", "seen", "address", "robots", "host", "fetch", "retries" or
	// "queue", "crash" of a page that runs were cut off with, "refresh" of a stored page that is kept fresh, and "batch" of a page that waits where the ordering ranks
	// pages every so often. A gate that a stopped URL never came to is absent.
	Gate    string  `json:"gate"`
	Verdict Verdict `json:"verdict"`
	// Reason is one word out of a small set: a frontier.Reason, a frontier.Obstacle's gate, "robots",
	// "robots-unreachable", "private-address", a fetch.Outcome, an HTTP status, "redirect",
	// "soft-error", "truncated-length" and its like, "crash", "crashes", "next-batch", "exhausted". Empty where there is nothing to say.
	Reason string     `json:"reason,omitempty"`
	Detail string     `json:"detail,omitempty"` // for people
	Until  *time.Time `json:"until,omitempty"`  // of a wait whose end is known
}

// Verdict is what a gate makes of a URL.
type Verdict string

// The verdicts.
const (
	Passed  Verdict = "passed"
	Waits   Verdict = "waits"   // time, or the work of others, will open the gate
	Stopped Verdict = "stopped" // the URL is not fetched, or its answer was no page
)

// Explain explains a URL in a running crawl. Its time is that of a few reads, and of one of each site in the URL's
// partition; for a URL without a row it looks for a page that links to it, in up to 100,000 rows.
func (e *Engine) Explain(raw string) (Explanation, error) {
	x := explainer{opt: e.current(), store: e.store, rules: e.robots, now: e.opt.Clock.Now()}
	x.obstacles = func(site weburl.Site) ([]frontier.Obstacle, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.front.Explain(site, x.now), nil
	}
	x.refreshing = e.Refreshing
	if e.reordering != nil {
		x.ranking = e.reordering.remaining
	}
	return x.explain(raw)
}

// Explain explains a URL in a directory in which no crawl runs, as the next run with those options
// would treat it: of them scope, limits, agent, delays, retries and clock matter. Errors are the
// store's, and those of wrong options.
func Explain(s *store.Store, opt Options, raw string) (Explanation, error) {
	opt.Dir = cmp.Or(opt.Dir, "-") // the store is open
	opt, err := opt.withDefaults()
	if err != nil {
		return Explanation{}, err
	}
	x := explainer{opt: newCurrent(opt), store: s, rules: newRobotsRules(opt.Agent, s, 4*mib), now: opt.Clock.Now()}
	x.obstacles = func(site weburl.Site) ([]frontier.Obstacle, error) {
		front, err := x.opt.newFrontier(s)
		if err != nil {
			return nil, err
		}
		info, err := siteInfo(s, x.rules, site)
		if errors.Is(err, store.ErrNotFound) {
			return front.Explain(site, x.now), nil
		}
		if err != nil {
			return nil, err
		}
		front.Restore(info, x.now)
		if start := s.Start(); !start.Clean {
			front.AfterUncleanStop(x.now)
		}
		return front.Explain(site, x.now), nil
	}
	return x.explain(raw)
}

// explainer asks the gates about one URL.
type explainer struct {
	opt        *current
	store      *store.Store
	rules      *robotsRules
	obstacles  func(weburl.Site) ([]frontier.Obstacle, error)
	refreshing func(weburl.URL, weburl.Fingerprint) (Refreshing, bool) // nil: no page is kept fresh
	ranking    func() (pages int, ok bool)                             // see reordering.remaining; nil: no crawl runs, or none that ranks
	now        time.Time

	url  weburl.URL
	held bool // for the next batch
	out  Explanation
}

func (x *explainer) explain(raw string) (Explanation, error) {
	x.out.URL = raw
	u, err := weburl.Parse(raw)
	if err != nil {
		x.say("syntax", Stopped, "invalid-url", err.Error())
		return x.conclude("It is no URL that can be crawled."), nil
	}
	x.url, x.out.URL = u, u.String()
	x.say("syntax", Passed, "", "")
	row, _, err := x.store.PageOf(u)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return x.unknown()
	case err != nil:
		return x.out, fmt.Errorf("crawl: explain %s: %w", u, err)
	}
	return x.known(row)
}

func (x *explainer) say(gate string, verdict Verdict, reason, detail string) {
	x.out.Gates = append(x.out.Gates, Checked{Gate: gate, Verdict: verdict, Reason: reason, Detail: detail})
}

// conclude names the gate that decided.
func (x *explainer) conclude(why string) Explanation {
	x.out.Why = why
	for _, verdict := range []Verdict{Stopped, Waits} {
		for _, g := range x.out.Gates {
			if g.Verdict == verdict && x.out.StoppedBy == "" {
				x.out.StoppedBy, x.out.Reason = g.Gate, g.Reason
			}
		}
	}
	return x.out
}

// unknown explains a URL without a row: it was refused when a link to it was found, or none was.
func (x *explainer) unknown() (Explanation, error) {
	link, carried, err := x.carrier()
	if err != nil {
		return x.out, err
	}
	scope, err := x.scope()
	if err != nil {
		return x.out, err
	}
	bounds := x.opt.bounds(scope)
	if reason, ok := bounds.AdmitURL(x.url); !ok {
		x.say("scope", Stopped, reason.String(), x.outside(reason))
		return x.conclude("It does not belong to the crawl."), nil
	}
	x.say("scope", Passed, "", "scope "+x.opt.Scope)
	pages := 0
	row, err := x.store.Site(x.url.Site())
	if err == nil {
		pages = int(row.Pages)
	} else if !errors.Is(err, store.ErrNotFound) {
		return x.out, fmt.Errorf("crawl: explain %s: %w", x.url, err)
	}
	if reason, ok := bounds.Guard(x.url.Site()).Admit(link, pages, x.now); !ok {
		x.say("guard", Stopped, reason.String(), fmt.Sprintf("%d links and %d redirects from a seed; its site has %d pages", link.Depth, link.Hops, pages))
		return x.conclude("A limit keeps it out of the crawl: " + reason.String() + "."), nil
	}
	x.say("guard", Passed, "", "")
	if carried {
		x.say("seen", Waits, "undecided", "a stored page links to it")
		return x.conclude("A stored page links to it; whether it is new is about to be decided."), nil
	}
	x.say("seen", Stopped, "unknown", "no stored page links to it")
	return x.conclude("No stored page links to it, and no seed names it."), nil
}

// outside says what keeps the URL out of the scope.
func (x *explainer) outside(reason frontier.Reason) string {
	switch reason {
	case frontier.Excluded:
		return "a pattern of the rules excludes it"
	case frontier.OptedOut:
		return "it is in the list of those who opted out"
	}
	return "scope " + x.opt.Scope + " does not take in " + string(x.url.Site())
}

// scope returns the scope as the rows of the sites tell it. A domain's sites lie in one partition.
func (x *explainer) scope() (frontier.Scope, error) {
	scope, err := frontier.ParseScope(x.opt.Scope)
	if err != nil {
		return nil, err
	}
	for _, seed := range x.opt.Seeds {
		scope.AddSeed(seed)
	}
	for row, err := range x.store.Sites(x.store.Home(x.url.Site())) {
		if err != nil {
			return nil, fmt.Errorf("crawl: explain %s: %w", x.url, err)
		}
		if row.Seed {
			scope.AddSite(row.Site)
		}
	}
	return scope, nil
}

// carrierRows bounds the rows in which a link to an unknown URL is looked for.
const carrierRows = 100_000

// carrier looks for a stored page that links to the URL, in its own partition first: that tells how
// many links and redirects lead to it.
func (x *explainer) carrier() (link weburl.Link, found bool, err error) {
	n := x.store.Partitions()
	own := int(x.store.Home(x.url.Site()))
	rows := 0
	for i := range n {
		p := weburl.Partition((own + i) % n)
		for row, err := range x.store.Pages(p) {
			if rows++; err != nil || rows > carrierRows {
				return weburl.Link{URL: x.url}, false, err
			}
			if row.Redirect == x.url {
				return discovery.RedirectLink(x.url, row.Page), true, nil
			}
			if row.Versions == 0 || row.NoFollow {
				continue
			}
			links, err := x.store.OutLinks(p, row.Fingerprint)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return link, false, fmt.Errorf("crawl: explain %s: links of %s: %w", x.url, row.URL, err)
			}
			for _, l := range discovery.PageLinks(links, row.Page) {
				if l.URL == x.url {
					return l, true, nil
				}
			}
		}
	}
	return weburl.Link{URL: x.url}, false, nil
}

// known explains a page that has a row.
func (x *explainer) known(row store.Page) (Explanation, error) {
	if err := x.inside(row); err != nil {
		return x.out, err
	}
	x.say("seen", Passed, "", x.discovery(row))
	site, err := x.store.Site(x.url.Site())
	if err != nil {
		return x.out, fmt.Errorf("crawl: explain %s: %w", x.url, err)
	}
	x.address(row, site.Robots)
	if err := x.robots(row, site.Robots); err != nil {
		return x.out, err
	}
	x.crashes(row)
	x.batch(row)
	if row.Queue != store.NoQueue {
		if err := x.host(); err != nil {
			return x.out, err
		}
	}
	x.fetch(row, site.Validators)
	x.retries(row)
	x.queue(row)
	fate := x.fate(row)
	if x.refreshing != nil && row.Queue == store.NoQueue {
		if p, ok := x.refreshing(row.URL, row.URL.Fingerprint()); ok {
			fate = x.refresh(p, row)
		}
	}
	return x.conclude(fate), nil
}

// inside tells whether a known page belongs to the crawl as it is now. One that is stored and waits for nothing stays
// where it is, unless a pattern says otherwise.
func (x *explainer) inside(row store.Page) error {
	scope, err := x.scope()
	if err != nil {
		return err
	}
	gate, detail := "scope", ""
	bounds := x.opt.bounds(scope)
	reason, ok := bounds.Admits(row)
	if reason == frontier.TooDeep || reason == frontier.TooManyRedirects {
		gate, detail = "guard", fmt.Sprintf("%d links and %d redirects from a seed", row.Depth, row.Hops)
	} else if !ok {
		detail = x.outside(reason)
	}
	waits := row.Queue != store.NoQueue || discovery.Outside(row)
	if !ok && !waits && reason != frontier.Excluded && reason != frontier.OptedOut {
		ok = true
	}
	for _, g := range []string{"scope", "guard"} {
		switch {
		case !ok && g == gate:
			x.say(g, Stopped, reason.String(), detail)
		case ok && discovery.Outside(row) && g == "scope":
			x.say(g, Waits, row.Reason, "it was refused for that; a run that begins with another scope than the last asks for it")
		default:
			x.say(g, Passed, "", "when it was discovered")
		}
	}
	return nil
}

func (x *explainer) discovery(row store.Page) string {
	detail := fmt.Sprintf("known since %s as %s, %s, %d links and %d redirects from a seed", date(row.FirstSeen), row.State, row.Rel, row.Depth, row.Hops)
	if row.Via == 0 {
		return detail
	}
	// The page that carries the link may lie in another partition; its name is worth a look in this one.
	if via, err := x.store.Page(x.store.Home(x.url.Site()), row.Via); err == nil {
		return detail + ", by way of " + via.URL.String()
	}
	return detail + ", by way of page " + row.Via.String()
}

func (x *explainer) robots(row store.Page, state store.RobotsState) error {
	detail := "robots.txt was not asked for yet"
	if state.Fetched != 0 {
		detail = fmt.Sprintf("robots.txt asked for %s: %s", date(state.Fetched), answer(state.Outcome, state.Status, state.Reason))
	}
	if state.Expires != 0 {
		detail += ", holds until " + date(state.Expires)
	}
	if state.Fetched == 0 {
		if !x.rules.holds(x.url.Site()) {
			x.say("robots", Waits, robots.ReasonRobots, detail)
			return nil
		}
		detail = "robots.txt was just read"
	}
	rules, err := x.rules.of(x.url.Site())
	switch {
	case err != nil:
		return err
	case refusedByRobots(row) && rules.Allowed(x.url):
		x.say("robots", Waits, row.Reason, detail+"; it was refused before, and is asked for again now that it is allowed")
	case refusedByRobots(row):
		x.say("robots", Stopped, row.Reason, detail+"; it is asked for again once robots.txt allows it")
	case state.Fetched != 0 && state.Kept == 0 && state.Expires == 0:
		x.say("robots", Waits, robots.ReasonUnreachable, detail+"; nothing of the site is asked for until it can be had")
	case !rules.Allowed(x.url):
		x.say("robots", Stopped, rules.Reason(), detail)
	default:
		x.say("robots", Passed, "", detail)
	}
	return nil
}

// address tells whether the address guard stands in the way: of the page, or of its site's robots.txt,
// which is asked for first.
func (x *explainer) address(row store.Page, robots store.RobotsState) {
	switch {
	case row.Outcome == store.OutcomeDenied && row.Reason != reasonType:
		x.say("address", Stopped, "private-address", row.Reason)
		return
	case robots.Outcome == store.OutcomeDenied && row.State == store.StateDenied:
		x.say("address", Stopped, "private-address", robots.Reason)
		return
	}
	if addr, err := netip.ParseAddr(strings.Trim(x.url.Host(), "[]")); err == nil && row.Queue != store.NoQueue && !x.opt.AllowPrivate {
		if err := fetch.Guard(addr); err != nil {
			x.say("address", Stopped, "private-address", err.Error())
			return
		}
	}
	x.say("address", Passed, "", "")
}

// crashes tells of unclean stops that met the page while it was processed.
func (x *explainer) crashes(row store.Page) {
	switch {
	case row.Strikes == 0:
	case row.Strikes < MaxStrikes:
		x.say("crash", Passed, "", fmt.Sprintf("the last %d runs that processed it were cut off; after %d it is set aside",
			row.Strikes, MaxStrikes))
	default:
		x.say("crash", Stopped, reasonCrashes, fmt.Sprintf("%d runs in a row were cut off while it was processed; recrawl lifts that",
			MaxStrikes))
	}
}

// batch tells whether the ordering holds the page until pages are ranked again, and when that is.
func (x *explainer) batch(row store.Page) {
	ranked, ok := x.opt.ordering.(frontier.Ranked)
	if !ok || row.Queue != store.NewQueue {
		return
	}
	when := "when the next run begins"
	if x.ranking != nil {
		pages, ok := x.ranking()
		switch {
		case !ok:
			when = "which is under way"
		case pages == 0:
			when = "as soon as the links of the last ones fetched are decided"
		default:
			when = fmt.Sprintf("when %d more pages have been fetched", pages)
		}
	}
	if x.held = ranked.Holds(row.Key.Order); x.held {
		x.say("batch", Waits, "next-batch", "it is not of the present batch; the next is chosen by ranking all pages, "+when)
		return
	}
	x.say("batch", Passed, "", "it has a place by its rank; pages are ranked again, "+when)
}

// host tells what keeps the host from being asked now.
func (x *explainer) host() error {
	obstacles, err := x.obstacles(x.url.Site())
	if err != nil {
		return err
	}
	for _, o := range obstacles {
		switch o.Gate {
		case "empty", "due", "unknown": // they speak of pages, and this one's queue is known
			continue
		}
		checked := Checked{Gate: "host", Verdict: Waits, Reason: o.Gate, Detail: "nothing of " + x.url.Host() + " is asked for"}
		if !o.Until.IsZero() {
			until := o.Until.UTC()
			checked.Until = &until
			checked.Detail += " until " + until.Format(time.RFC3339)
		}
		x.out.Gates = append(x.out.Gates, checked)
	}
	if len(obstacles) == 0 {
		x.say("host", Passed, "", "it may be asked now")
	}
	return nil
}

// fetch tells what came of the last request.
func (x *explainer) fetch(row store.Page, validators store.Validators) {
	if !row.Visited {
		if row.Queue == store.NoQueue {
			return
		}
		x.say("fetch", Waits, "never-fetched", "it was not asked for yet")
		return
	}
	detail := fmt.Sprintf("asked for %s: %s", date(row.LastFetched), answer(row.Outcome, row.Status, row.Reason))
	if !validators.Trusted(x.now.UnixNano()) {
		detail += fmt.Sprintf("; until %s its site is asked without ETag and Last-Modified, which were wrong %d times",
			date(validators.Until), validators.Lies)
	}
	reason := ""
	switch row.Outcome {
	case store.OutcomeStored:
		switch {
		case row.Truncated != "":
			reason = "truncated-" + row.Truncated
		case row.SoftError:
			reason = "soft-error"
		}
	case store.OutcomeNotModified:
	case store.OutcomeRedirected:
		reason, detail = "redirect", detail+" to "+row.Redirect.String()
	case store.OutcomeDenied:
		if row.Reason != reasonType {
			return // the address gate's
		}
		reason = reasonType
	case store.OutcomeCrash:
		reason = store.OutcomeCrash.String()
	case store.OutcomeFailed:
		if reason = failure(row.Reason); row.Reason == "" { // an answer that is none, such as 101
			reason = fmt.Sprint(row.Status)
		}
	default:
		reason = fmt.Sprint(row.Status)
	}
	verdict := Passed
	switch {
	case reason != "" && row.Queue == store.NoQueue:
		verdict = Stopped
	case reason != "":
		verdict = Waits
	}
	x.say("fetch", verdict, reason, detail)
}

// failure returns the outcome's word in the error of a fetch, which reads "fetch: phase: outcome: …".
func failure(text string) string {
	words := strings.SplitN(text, ": ", 4)
	if len(words) < 3 || words[0] != "fetch" {
		return store.OutcomeFailed.String()
	}
	return words[2]
}

func (x *explainer) retries(row store.Page) {
	if row.FailedInRow == 0 {
		return
	}
	detail := fmt.Sprintf("failed %d times in a row; tried again %d times at most", row.FailedInRow, max(0, x.opt.Retries))
	if row.Queue == store.NoQueue {
		x.say("retries", Stopped, "exhausted", detail)
		return
	}
	x.say("retries", Passed, "", detail)
}

func (x *explainer) queue(row store.Page) {
	var due time.Time
	switch row.Queue {
	case store.NoQueue:
		return
	case store.NewQueue:
		x.out.Gates = append(x.out.Gates, Checked{Gate: "queue", Verdict: Waits, Reason: "new", Detail: "among the new pages of its site"})
	case store.DueQueue:
		due = time.Unix(0, int64(row.Key.Order)).UTC()
		x.out.Gates = append(x.out.Gates, Checked{Gate: "queue", Verdict: Waits, Reason: "due", Detail: "due " + due.Format(time.RFC3339), Until: &due})
	}
	for _, g := range x.out.Gates { // the last gate to open decides
		if g.Gate == "host" && g.Until != nil && g.Until.After(due) {
			due = *g.Until
		}
	}
	if !due.IsZero() {
		x.out.NextDue = &due
	}
}

// refresh tells when a stored page that is kept fresh is worth a visit again, and why.
func (x *explainer) refresh(p Refreshing, row store.Page) string {
	belief := fmt.Sprintf("%.3g changes a day are expected; the copy is stale with probability %.2f", p.RatePerDay, p.Stale)
	detail := fmt.Sprintf("%s; a visit now is worth %.3g, and pages are visited at %.3g", belief, p.Value, p.Bar)
	if p.Bar == 0 {
		detail = belief + "; when it is visited is up to the policy"
	}
	x.say("refresh", Passed, "kept-fresh", detail)
	x.out.NextDue = p.NextDue
	sentence := fmt.Sprintf("It is stored: version %d, last changed %s. ", row.Versions, date(row.LastChanged))
	if p.NextDue == nil {
		return sentence + "It is kept fresh: " + belief + "."
	}
	return sentence + "It will be worth a visit about " + p.NextDue.UTC().Format(time.RFC3339) + ": " + belief + "."
}

// fate sums up in a sentence.
func (x *explainer) fate(row store.Page) string {
	if row.Queue != store.NoQueue {
		for _, g := range x.out.Gates {
			if g.Gate == "robots" && g.Reason == robots.ReasonUnreachable {
				return "The robots.txt of its site cannot be had. It is asked for again with growing waits, and the page waits for it."
			}
		}
		if x.held {
			return "It waits for the next batch."
		}
		if x.out.NextDue == nil {
			return "It waits for its turn."
		}
		if row.FailedInRow > 0 {
			return "The last request failed; it is tried again, no sooner than " + x.out.NextDue.Format(time.RFC3339) + "."
		}
		return "It waits for its turn, which comes no sooner than " + x.out.NextDue.Format(time.RFC3339) + "."
	}
	if row.Strikes >= MaxStrikes {
		return "It is set aside, as the crawl ended without warning each time that it was processed. A recrawl lifts that."
	}
	switch row.State {
	case store.StateLive:
		return fmt.Sprintf("It is stored: version %d, last changed %s. It is not due again.", row.Versions, date(row.LastChanged))
	case store.StateWithdrawn:
		return "It is stored and no longer served: " + row.Reason + "."
	case store.StateDenied:
		return "A gate refused it: " + row.Reason + "."
	}
	return "It is " + row.State.String() + ", and not due again."
}

// answer says what came back.
func answer(outcome store.Outcome, status int, reason string) string {
	text := outcome.String()
	if status != 0 {
		text += fmt.Sprintf(" %d", status)
	}
	if reason != "" {
		text += " (" + reason + ")"
	}
	return text
}

func date(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }
