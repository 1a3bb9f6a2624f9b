package node

import (
	"errors"
	"fmt"
	"time"

	"freshet/crawl"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// An operator's orders to a crawl, whether it runs or is only open, see crawl.Order. Once its method has returned, an
// order survives a crash. All methods are safe for concurrent use until Close.

// Add adds seeds and returns the number of those that were not known. refused has the seeds that the rules or a guard
// refuse, with the reason. Known pages become seeds too, and are not fetched again for that.
func (n *Node) Add(seeds []weburl.URL) (added int64, refused map[string]string, err error) {
	r, err := n.order(crawl.Add{Seeds: seeds})
	return r.Count, r.Refused, err
}

// PauseAll stops or resumes all requests.
func (n *Node) PauseAll(paused bool) error {
	_, err := n.order(crawl.PauseAll{Paused: paused})
	return err
}

// Pause stops or resumes the requests to a site. It returns crawl.ErrUnknown if no page of the site is known.
func (n *Node) Pause(site weburl.Site, paused bool) error {
	_, err := n.order(crawl.Pause{Site: site, Paused: paused})
	return err
}

// Pace sets how fast a site may be asked, if the settings and its robots.txt would allow more: the delay between two
// requests at least, and the fetches a day at most. Nil changes nothing, and zero ends what was ordered before. It
// returns crawl.ErrUnknown if no page of the site is known, and crawl.ErrOrder for a delay or budget out of range.
func (n *Node) Pace(site weburl.Site, delay *time.Duration, budget *int) error {
	_, err := n.order(crawl.Pace{Site: site, Delay: delay, Budget: budget})
	return err
}

// Block stops requests to a host until until, or forever if that is zero. The host need not be known.
func (n *Node) Block(host string, until time.Time) error {
	_, err := n.order(crawl.Block{Host: host, Until: until})
	return err
}

// Unblock lifts a Block.
func (n *Node) Unblock(host string) error {
	_, err := n.order(crawl.Unblock{Host: host})
	return err
}

// Recrawl makes a page due now, even if it was set aside (crawl.MaxStrikes). It returns crawl.ErrUnknown for a page
// that is not known or was purged.
func (n *Node) Recrawl(u weburl.URL) error {
	_, err := n.order(crawl.Recrawl{URL: u})
	return err
}

// RecrawlSite makes all pages of a site due now, except those that were never fetched, were purged, or have a content
// type that the rules do not refresh. It returns the number of pages made due.
func (n *Node) RecrawlSite(site weburl.Site) (pages int64, err error) {
	r, err := n.order(crawl.RecrawlSite{Site: site})
	return r.Count, err
}

// Purge permanently takes down a page in every crawl of the directory. Its versions, visits and links go at once. A
// tombstone prevents its rediscovery. Soon afterwards no file of the directory has its bytes; see
// store.Store.BeginPurge. Purge returns crawl.ErrUnknown for a page that is not known.
func (n *Node) Purge(u weburl.URL) error {
	_, err := n.purge(store.Target{URL: u})
	return err
}

// PurgeSite takes down a site as Purge does a page, admits no page of it any more, and returns the number of its pages.
func (n *Node) PurgeSite(site weburl.Site) (pages int64, err error) {
	return n.purge(store.Target{Site: site})
}

func (n *Node) purge(target store.Target) (pages int64, err error) {
	r, err := n.order(crawl.Purge{Target: target})
	return r.Count, err
}

// CountPurge returns how many pages a purge of a target would take down in this crawl. It returns crawl.ErrUnknown for
// a page or site that is not known.
func (n *Node) CountPurge(target store.Target) (pages int64, err error) {
	if target.URL.IsZero() {
		if _, err := n.store.Site(target.Site); errors.Is(err, store.ErrNotFound) {
			return 0, fmt.Errorf("%w: site %s", crawl.ErrUnknown, target.Site)
		} else if err != nil {
			return 0, err
		}
	}
	pages, err = n.store.Count(target)
	if errors.Is(err, store.ErrNotFound) {
		return 0, fmt.Errorf("%w: page %s", crawl.ErrUnknown, target)
	}
	return pages, err
}

// Ping reports that pages have changed. Visited pages are due now. Unknown pages are discovered if scope and rules
// admit them. Pages that wait for their first visit keep waiting. taken is the number of these pages. refused has the
// others, with the reason, see crawl.Ping.
func (n *Node) Ping(urls []weburl.URL) (taken int64, refused map[string]string, err error) {
	r, err := n.order(crawl.Ping{URLs: urls})
	return r.Count, r.Refused, err
}

// Reload applies the options of opt that may change while a crawl runs: seeds (new ones are added), scope, rules and
// requisites, delays, retries, the limits on pages and depths, the budget, Fetch.In and Fetch.Out. It ignores all
// others. If it returns an error, no option has changed. Queued pages that no longer belong to the crawl are refused
// when their turn comes. A wider scope admits links found from now on at once, and earlier ones at the next Run.
func (n *Node) Reload(opt Options) error {
	n.reloading.Lock()
	defer n.reloading.Unlock()
	next := n.current().Options
	next.Seeds, next.Scope, next.Rules, next.Requisites = opt.Seeds, opt.Scope, opt.Rules, opt.Requisites
	next.Delay, next.AdaptiveDelay, next.AddressDelay = opt.Delay, opt.AdaptiveDelay, opt.AddressDelay
	next.Retries, next.RetryDelay = opt.Retries, opt.RetryDelay
	next.MaxPages, next.MaxDepth, next.PagesPerSite = opt.MaxPages, opt.MaxDepth, opt.PagesPerSite
	if next.Refresh != nil && opt.Refresh != nil {
		asked := *next.Refresh
		asked.Budget = opt.Refresh.Budget
		next.Refresh = &asked
	}
	next, err := next.withDefaults()
	if err != nil {
		return err
	}
	if _, err := frontier.ParseScope(next.Scope); err != nil {
		return err
	}
	if _, err := n.order(crawl.Reload{Settings: next.settings()}); err != nil {
		return err
	}
	n.inForce.Store(newCurrent(next))
	n.in.Follow(opt.Fetch.In)
	n.out.Follow(opt.Fetch.Out)
	return nil
}
