package node

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"freshet/clock"
	"freshet/crawl"
	"freshet/crawl/discovery"
	"freshet/crawl/explain"
	"freshet/crawl/robots"
	"freshet/fetch"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// Explain explains a URL in a running crawl. It takes a few reads, and one for each site in the URL's partition.
// For a URL without a row it searches up to 100,000 rows for a page that links to it, which can take a second.
func (n *Node) Explain(raw string) (explain.Explanation, error) {
	return n.ExplainWithin(raw, Unhurried)
}

// Unhurried is the length of a search for links that is not to be cut short.
const Unhurried time.Duration = math.MaxInt64

// ExplainWithin is Explain with a search that lasts no longer than most; 0: without one.
func (n *Node) ExplainWithin(raw string, most time.Duration) (explain.Explanation, error) {
	return n.about(most).Explain(raw, n.opt.Clock.Now())
}

// about returns what explains URLs now, with a search that lasts no longer than most. It reads the sites of a partition
// once.
func (n *Node) about(most time.Duration) explain.About {
	opt := n.current().Options
	x := explaining{opt: opt, settings: opt.settings(), store: n.store, most: most}
	about := x.about(running{n}, running{n})
	about.Keeper = running{n}
	if about.Ranked != nil {
		about.Ranking = running{n}
	}
	return about
}

// running answers the questions of package explain for a crawl that runs.
type running struct{ node *Node }

// Obstacles implements explain.Hosts.
func (r running) Obstacles(site weburl.Site, now time.Time) (all []frontier.Obstacle, err error) {
	r.node.owner(site).ask(func(s *crawl.Shard, _ time.Time) { all = s.Obstacles(site, now) })
	return all, nil
}

// Waits returns what delays the pages of each site. It puts one question to each shard.
func (n *Node) Waits(sites []weburl.Site) [][]frontier.Obstacle {
	all, of := make([][]frontier.Obstacle, len(sites)), map[*loop][]int{}
	for i, site := range sites {
		l := n.owner(site)
		of[l] = append(of[l], i)
	}
	for l, some := range of {
		l.ask(func(s *crawl.Shard, now time.Time) {
			for _, i := range some {
				all[i] = s.Obstacles(sites[i], now)
			}
		})
	}
	return all
}

// Holds implements explain.Robots.
func (r running) Holds(site weburl.Site) (holds bool) {
	r.node.owner(site).ask(func(s *crawl.Shard, _ time.Time) { holds = s.Holds(site) })
	return holds
}

// Rules implements explain.Robots.
func (r running) Rules(site weburl.Site) (rules robots.Standing, err error) {
	if !r.node.owner(site).ask(func(s *crawl.Shard, _ time.Time) { rules, err = s.Standing(site) }) {
		return rules, errClosed
	}
	return rules, err
}

// Visits implements explain.Keeper.
func (r running) Visits(u weburl.URL) (v explain.Visits, ok bool) {
	var p crawl.Refreshing
	reading := false
	r.node.owner(u.Site()).ask(func(s *crawl.Shard, now time.Time) {
		p, ok = s.Refreshing(u, u.Fingerprint(), now)
		reading = !ok && s.Remembers()
	})
	return explain.Visits{NextDue: p.NextDue, RatePerDay: p.RatePerDay, Stale: p.Stale, Value: p.Value, Bar: p.Bar,
		Reading: reading}, ok || reading
}

// Remaining implements explain.Ranking.
func (r running) Remaining() (pages int, ok bool) {
	r.node.each(func(s *crawl.Shard, _ time.Time) { pages, ok = s.Remaining() })
	return pages, ok
}

// Explain explains a URL in a directory in which no crawl runs, as the next run with these options would treat it. Of
// the options, scope, limits, agent, delays, retries and clock matter. It searches for links to an unknown URL no
// longer than most; 0: not at all. Explain returns an error if an option is wrong or the store cannot be read.
func Explain(s *store.Store, opt Options, raw string, most time.Duration) (explain.Explanation, error) {
	opt.Dir = cmp.Or(opt.Dir, "-") // the store is open
	opt, err := opt.withDefaults()
	if err != nil {
		return explain.Explanation{}, err
	}
	x := &stopped{explaining{opt: opt, settings: opt.settings(), store: s, most: most}, robots.NewBook(opt.Agent, opt.TDMRep, 4*mib)}
	return x.about(x, x).Explain(raw, opt.Clock.Now())
}

// stopped answers the questions of package explain for a crawl that does not run.
type stopped struct {
	explaining
	book *robots.Book
}

// Obstacles implements explain.Hosts.
func (x *stopped) Obstacles(site weburl.Site, now time.Time) ([]frontier.Obstacle, error) {
	sites, manners, err := crawl.ReadHost(x.store, x.Rules, x.settings, site)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	front, err := frontier.New(x.settings.FrontierOptions(manners), crawl.Queues(x.store))
	if err != nil {
		return nil, err
	}
	if len(sites) == 0 {
		return front.Explain(site, now), nil
	}
	for _, info := range sites {
		front.Restore(info, now)
	}
	if start := x.store.Start(); !start.Clean {
		front.AfterUncleanStop(now)
	}
	return front.Explain(site, now), nil
}

// Holds implements explain.Robots.
func (x *stopped) Holds(site weburl.Site) bool {
	_, ok := x.book.Standing(site)
	return ok
}

// Rules implements explain.Robots.
func (x *stopped) Rules(site weburl.Site) (robots.Standing, error) {
	if standing, ok := x.book.Standing(site); ok {
		return standing, nil
	}
	standing, err := crawl.ReadRobots(x.store, x.book, site)
	if err == nil {
		x.book.Keep(site, standing)
	}
	return standing, err
}

// explaining answers questions about a data directory under a crawl's options. It implements explain's Rows and Scope.
type explaining struct {
	opt      Options
	settings crawl.Settings
	store    *store.Store
	most     time.Duration // of a search for links; 0: there is none
	// the scope of the seeds in a partition, which was read last; nil: none was
	scoped    frontier.Scope
	scopedFor weburl.Partition
}

func (x *explaining) about(hosts explain.Hosts, rules explain.Robots) explain.About {
	options := explain.Options{ScopeName: x.opt.Scope, Retries: *x.opt.Retries, MaxStrikes: crawl.MaxStrikes, Unsearched: x.most == 0}
	if !x.opt.AllowPrivate {
		options.Guard = fetch.Guard
	}
	options.Ranked, _ = x.opt.ordering.(frontier.Ranked)
	return explain.About{Options: options, Rows: x, Scope: x, Robots: rules, Hosts: hosts}
}

// Page implements explain.Rows.
func (x *explaining) Page(u weburl.URL) (explain.Page, error) {
	row, _, err := x.store.PageOf(u)
	if err != nil {
		return explain.Page{}, err
	}
	page := explain.Page{Page: row, OutOfCrawl: discovery.Outside(row), RefusedByRobots: crawl.RefusedByRobots(row)}
	if row.Outcome == store.OutcomeFailed && row.Reason != "" {
		page.Failure = failure(row.Reason)
	}
	if row.Via != 0 {
		page.Via = "page " + row.Via.String()
		// The page with the link may be in another partition. Looking for it in this one costs little.
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

// linkRows is the maximum number of rows that are searched for a link to an unknown URL.
const linkRows = 100_000

// Link implements explain.Rows. It looks at linkRows rows and for x.most at most. It searches the URL's own partition
// first, and returns the numbers of links and redirects that lead to the URL.
func (x *explaining) Link(u weburl.URL) (link weburl.Link, found, all bool, err error) {
	begun := clock.Real().Now()
	n := x.store.Partitions()
	own := int(x.store.Home(u.Site()))
	rows := 0
	for i := range n {
		p := weburl.Partition((own + i) % n)
		for row, err := range x.store.Pages(p) {
			if rows++; err != nil || rows > linkRows || clock.Real().Now().Sub(begun) >= x.most {
				return weburl.Link{URL: u}, false, false, err
			}
			if row.Redirect == u {
				return discovery.RedirectLink(u, row.Page), true, true, nil
			}
			if row.Versions == 0 || row.NoFollow {
				continue
			}
			links, err := x.store.OutLinksTo(p, row.Fingerprint, u)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return link, false, false, fmt.Errorf("crawl: explain %s: links of %s: %w", u, row.URL, err)
			}
			for _, l := range discovery.PageLinks(links, row.Page) {
				if l.URL == u {
					return l, true, true, nil
				}
			}
		}
	}
	return weburl.Link{URL: u}, false, true, nil
}

// Admits implements explain.Scope.
func (x *explaining) Admits(link weburl.Link) (reason frontier.Reason, ok bool, err error) {
	scope, err := x.scope(link.URL)
	if err != nil {
		return reason, false, err
	}
	bounds := x.settings.Bounds(scope, nil)
	reason, ok = bounds.AdmitURL(link.URL, link.Rel)
	return reason, ok, nil
}

// Limits implements explain.Scope.
func (x *explaining) Limits(link weburl.Link, pages int, now time.Time) (frontier.Reason, bool) {
	bounds := x.settings.Bounds(nil, nil) // limits do not depend on the scope
	return bounds.Guard(link.URL.Site()).Admit(link, pages, now)
}

// Keeps implements explain.Scope.
func (x *explaining) Keeps(page store.Page) (reason frontier.Reason, ok bool, err error) {
	scope, err := x.scope(page.URL)
	if err != nil {
		return reason, false, err
	}
	bounds := x.settings.Bounds(scope, nil)
	reason, ok = bounds.Admits(page)
	return reason, ok, nil
}

// scope returns the scope from the rows of the sites. The sites of a domain are in one partition.
func (x *explaining) scope(u weburl.URL) (frontier.Scope, error) {
	home := x.store.Home(u.Site())
	if x.scoped != nil && x.scopedFor == home {
		return x.scoped, nil
	}
	scope, err := frontier.ParseScope(x.opt.Scope)
	if err != nil {
		return nil, err
	}
	for _, seed := range x.opt.Seeds {
		scope.AddSeed(seed)
	}
	for row, err := range x.store.Sites(home) {
		if err != nil {
			return nil, fmt.Errorf("crawl: explain %s: %w", u, err)
		}
		if row.Seed {
			scope.AddSite(row.Site)
		}
	}
	x.scoped, x.scopedFor = scope, home
	return scope, nil
}
