package crawl

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"freshet/crawl/discovery"
	"freshet/crawl/explain"
	"freshet/crawl/robots"
	"freshet/fetch"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// Explain explains a URL in a running crawl. Its time is that of a few reads, and of one of each site in the URL's
// partition; for a URL without a row it looks for a page that links to it, in up to 100,000 rows.
func (e *Engine) Explain(raw string) (explain.Explanation, error) {
	x := explaining{opt: e.current(), store: e.store, rules: e.robots}
	about := x.about(running{e})
	about.Keeper = running{e}
	if e.reordering != nil {
		about.Ranking = running{e}
	}
	return about.Explain(raw, e.opt.Clock.Now())
}

// running is what explain asks a crawl that runs.
type running struct{ engine *Engine }

// Obstacles implements explain.Hosts.
func (r running) Obstacles(site weburl.Site, now time.Time) ([]frontier.Obstacle, error) {
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	return r.engine.front.Explain(site, now), nil
}

// Visits implements explain.Keeper.
func (r running) Visits(u weburl.URL) (explain.Visits, bool) {
	p, ok := r.engine.Refreshing(u, u.Fingerprint())
	return explain.Visits{NextDue: p.NextDue, RatePerDay: p.RatePerDay, Stale: p.Stale, Value: p.Value, Bar: p.Bar}, ok
}

// Remaining implements explain.Ranking.
func (r running) Remaining() (pages int, ok bool) { return r.engine.reordering.remaining() }

// Explain explains a URL in a directory in which no crawl runs, as the next run with those options
// would treat it: of them scope, limits, agent, delays, retries and clock matter. Errors are the
// store's, and those of wrong options.
func Explain(s *store.Store, opt Options, raw string) (explain.Explanation, error) {
	opt.Dir = cmp.Or(opt.Dir, "-") // the store is open
	opt, err := opt.withDefaults()
	if err != nil {
		return explain.Explanation{}, err
	}
	x := explaining{opt: newCurrent(opt), store: s, rules: newRobotsRules(opt.Agent, s, 4*mib)}
	return x.about(&stopped{x}).Explain(raw, opt.Clock.Now())
}

// stopped is what explain asks a crawl that does not run.
type stopped struct{ explaining }

// Obstacles implements explain.Hosts.
func (x *stopped) Obstacles(site weburl.Site, now time.Time) ([]frontier.Obstacle, error) {
	front, err := x.opt.newFrontier(x.store)
	if err != nil {
		return nil, err
	}
	info, err := siteInfo(x.store, x.rules, site)
	if errors.Is(err, store.ErrNotFound) {
		return front.Explain(site, now), nil
	}
	if err != nil {
		return nil, err
	}
	front.Restore(info, now)
	if start := x.store.Start(); !start.Clean {
		front.AfterUncleanStop(now)
	}
	return front.Explain(site, now), nil
}

// explaining is what explain asks of a data directory and a crawl's options. It is explain's Rows, Scope and Robots.
type explaining struct {
	opt   *current
	store *store.Store
	rules *robotsRules
}

func (x *explaining) about(hosts explain.Hosts) explain.About {
	options := explain.Options{ScopeName: x.opt.Scope, Retries: x.opt.Retries, MaxStrikes: MaxStrikes}
	if !x.opt.AllowPrivate {
		options.Guard = fetch.Guard
	}
	options.Ranked, _ = x.opt.ordering.(frontier.Ranked)
	return explain.About{Options: options, Rows: x, Scope: x, Robots: x, Hosts: hosts}
}

// Page implements explain.Rows.
func (x *explaining) Page(u weburl.URL) (explain.Page, error) {
	row, _, err := x.store.PageOf(u)
	if err != nil {
		return explain.Page{}, err
	}
	page := explain.Page{Page: row, OutOfCrawl: discovery.Outside(row), RefusedByRobots: refusedByRobots(row)}
	if row.Outcome == store.OutcomeFailed && row.Reason != "" {
		page.Failure = failure(row.Reason)
	}
	if row.Via != 0 {
		page.Via = "page " + row.Via.String()
		// The page that carries the link may lie in another partition; its name is worth a look in this one.
		if via, err := x.store.Page(x.store.Home(u.Site()), row.Via); err == nil {
			page.Via = via.URL.String()
		}
	}
	return page, nil
}

// failure returns the outcome's word in the error of a fetch. A visit's record has it only within the text, which
// reads "fetch: phase: outcome: …" (fetch.Result.Err).
func failure(text string) string {
	words := strings.SplitN(text, ": ", 4)
	if len(words) < 3 || words[0] != "fetch" {
		return store.OutcomeFailed.String()
	}
	return words[2]
}

// Site implements explain.Rows.
func (x *explaining) Site(site weburl.Site) (store.SiteRow, error) { return x.store.Site(site) }

// linkRows bounds the rows in which a link to an unknown URL is looked for.
const linkRows = 100_000

// Link implements explain.Rows. It looks in the URL's own partition first, and tells how many links and redirects lead
// to it.
func (x *explaining) Link(u weburl.URL) (link weburl.Link, found bool, err error) {
	n := x.store.Partitions()
	own := int(x.store.Home(u.Site()))
	rows := 0
	for i := range n {
		p := weburl.Partition((own + i) % n)
		for row, err := range x.store.Pages(p) {
			if rows++; err != nil || rows > linkRows {
				return weburl.Link{URL: u}, false, err
			}
			if row.Redirect == u {
				return discovery.RedirectLink(u, row.Page), true, nil
			}
			if row.Versions == 0 || row.NoFollow {
				continue
			}
			links, err := x.store.OutLinks(p, row.Fingerprint)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return link, false, fmt.Errorf("crawl: explain %s: links of %s: %w", u, row.URL, err)
			}
			for _, l := range discovery.PageLinks(links, row.Page) {
				if l.URL == u {
					return l, true, nil
				}
			}
		}
	}
	return weburl.Link{URL: u}, false, nil
}

// Admits implements explain.Scope.
func (x *explaining) Admits(u weburl.URL) (reason frontier.Reason, ok bool, err error) {
	scope, err := x.scope(u)
	if err != nil {
		return reason, false, err
	}
	bounds := x.opt.bounds(scope)
	reason, ok = bounds.AdmitURL(u)
	return reason, ok, nil
}

// Limits implements explain.Scope.
func (x *explaining) Limits(link weburl.Link, pages int, now time.Time) (frontier.Reason, bool) {
	bounds := x.opt.bounds(nil) // limits know no scope
	return bounds.Guard(link.URL.Site()).Admit(link, pages, now)
}

// Keeps implements explain.Scope.
func (x *explaining) Keeps(page store.Page) (reason frontier.Reason, ok bool, err error) {
	scope, err := x.scope(page.URL)
	if err != nil {
		return reason, false, err
	}
	bounds := x.opt.bounds(scope)
	reason, ok = bounds.Admits(page)
	return reason, ok, nil
}

// scope returns the scope as the rows of the sites tell it. A domain's sites lie in one partition.
func (x *explaining) scope(u weburl.URL) (frontier.Scope, error) {
	scope, err := frontier.ParseScope(x.opt.Scope)
	if err != nil {
		return nil, err
	}
	for _, seed := range x.opt.Seeds {
		scope.AddSeed(seed)
	}
	for row, err := range x.store.Sites(x.store.Home(u.Site())) {
		if err != nil {
			return nil, fmt.Errorf("crawl: explain %s: %w", u, err)
		}
		if row.Seed {
			scope.AddSite(row.Site)
		}
	}
	return scope, nil
}

// Holds implements explain.Robots.
func (x *explaining) Holds(site weburl.Site) bool { return x.rules.holds(site) }

// Rules implements explain.Robots.
func (x *explaining) Rules(site weburl.Site) (robots.Standing, error) { return x.rules.of(site) }
