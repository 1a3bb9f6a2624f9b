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

// What an operator may ask of a crawl, whether it runs or is only open, see crawl.Order. An order outlives a crash from
// the moment its method returns. All methods are safe for concurrent use until Close.

// Add adds seeds and returns how many of them were not known. A seed that the rules refuse, or a guard,
// is in refused with the reason. Known pages become seeds too and are not fetched again for it.
func (n *Node) Add(seeds []weburl.URL) (added int64, refused map[string]string, err error) {
	r, err := n.order(crawl.Add{Seeds: seeds})
	return r.Count, r.Refused, err
}

// PauseAll lets nothing more be asked for, or lets the crawl go on.
func (n *Node) PauseAll(paused bool) error {
	_, err := n.order(crawl.PauseAll{Paused: paused})
	return err
}

// Pause lets nothing more of a site be asked for, or lets it be asked again. It returns crawl.ErrUnknown for a
// site of which no page is known.
func (n *Node) Pause(site weburl.Site, paused bool) error {
	_, err := n.order(crawl.Pause{Site: site, Paused: paused})
	return err
}

// Block lets nothing of a host be asked for until then, or ever if until is zero. The host need not be
// known.
func (n *Node) Block(host string, until time.Time) error {
	_, err := n.order(crawl.Block{Host: host, Until: until})
	return err
}

// Unblock lifts a Block.
func (n *Node) Unblock(host string) error {
	_, err := n.order(crawl.Unblock{Host: host})
	return err
}

// Recrawl makes a page due now, and lifts what set it aside (crawl.MaxStrikes). It returns crawl.ErrUnknown for a page
// that is not known or was purged.
func (n *Node) Recrawl(u weburl.URL) error {
	_, err := n.order(crawl.Recrawl{URL: u})
	return err
}

// RecrawlSite makes all pages of a site due now, except for those that wait to be fetched for the first
// time, were purged, or are of a type of content that the rules do not refresh. It returns how many.
func (n *Node) RecrawlSite(site weburl.Site) (pages int64, err error) {
	r, err := n.order(crawl.RecrawlSite{Site: site})
	return r.Count, err
}

// Purge takes a page down permanently, in every crawl of the directory: its versions, visits and links go at once, a
// tombstone keeps it from being found again, and soon after its bytes are in no file of the directory any more; see
// store.Store.BeginPurge. It returns crawl.ErrUnknown for a page that is not known.
func (n *Node) Purge(u weburl.URL) error {
	_, err := n.purge(store.Target{URL: u})
	return err
}

// PurgeSite takes down a site as Purge does a page, lets no page of it in any more, and returns how many
// it had.
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

// Ping takes word that pages have changed: those that were visited are due now, those that nobody knew are
// discovered if the scope and the rules let them in, those that wait for their first visit go on waiting.
// It returns of how many that is true. The others are in refused, with the reason, see crawl.Ping.
func (n *Node) Ping(urls []weburl.URL) (taken int64, refused map[string]string, err error) {
	r, err := n.order(crawl.Ping{URLs: urls})
	return r.Count, r.Refused, err
}

// Reload puts in force of opt what may change while a crawl runs: seeds (new ones are added), scope,
// rules and requisites, delays, retries, the limits on pages and depths, the budget, Fetch.In and Fetch.Out. Everything
// else of opt is ignored. If something is wrong with it nothing has changed. Pages that are queued and no longer belong
// to the crawl are refused on their turn; a wider scope takes in links that are found from now on, and those found
// before at the next Run.
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
