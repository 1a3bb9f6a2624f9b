package frontier

import (
	"math"

	"freshet/weburl"
)

// A Payer is an Ordering by cash. A page passes importance, its cash, to the pages that it links to. A page's cash is
// the sum of what all links have carried to it. PageOrder must be weburl.CashOrder, so that the keeper of the queue can
// move a page when its cash grows.
type Payer interface {
	Ordering
	// Owes returns how much cash a page passes on when it is visited. Cash is all that it has ever received, paid all
	// that it has passed on.
	Owes(cash, paid float64) float64
	// Pay returns the cash that each link carries if a page passes cash on to links ≥ 1 different pages. It is 0
	// without cash. A seed starts with what a page of cash 1 pays its only link.
	Pay(cash float64, links int) float64
}

// Pay returns what the ordering's own Pay returns, or 0 if the ordering is not a Payer.
func Pay(o Ordering, cash float64, links int) float64 {
	if p, ok := o.(Payer); ok {
		return p.Pay(cash, max(1, links))
	}
	return 0
}

// InLinks prefers the page with the most in-links from known pages, within a site and among sites.
type InLinks struct{}

// PageOrder puts the page with the most cash first.
func (InLinks) PageOrder(l weburl.Link) uint64 { return weburl.CashOrder(l.Cash) }

// SitePriority returns the cash of the site's top page.
func (InLinks) SitePriority(s SiteState) float64 { return weburl.OrderCash(s.Top.Order) }

// Owes returns 1 until the page has paid. So its links count once, however often it is visited.
func (InLinks) Owes(_, paid float64) float64 {
	if paid > 0 {
		return 0
	}
	return 1
}

// Pay returns 1: each link counts.
func (InLinks) Pay(cash float64, _ int) float64 {
	if cash > 0 {
		return 1
	}
	return 0
}

// OPIC prefers the page with the most cash, within a site and among sites. A page divides its cash equally among its
// links: on-line page importance computation, Abiteboul, Preda and Cobena 2003.
type OPIC struct{}

// PageOrder puts the page with the most cash first.
func (OPIC) PageOrder(l weburl.Link) uint64 { return weburl.CashOrder(l.Cash) }

// SitePriority returns the cash of the site's top page.
func (OPIC) SitePriority(s SiteState) float64 { return weburl.OrderCash(s.Top.Order) }

// Owes returns what the page has received since it last passed cash on.
func (OPIC) Owes(cash, paid float64) float64 { return max(0, cash-paid) }

// Pay returns an equal share per link.
func (OPIC) Pay(cash float64, links int) float64 { return cash / float64(links) }

// CashSum is OPIC within a site. Among sites it prefers the one whose queued pages have the most cash in total: the
// longest queue, weighted by importance. So it fetches important pages early and keeps the sites open that hold most of
// them.
type CashSum struct{ OPIC }

// SitePriority returns the cash of all queued pages, rounded to about five digits: sums that differ only by rounding
// are equal.
func (CashSum) SitePriority(s SiteState) float64 { return significant(s.Cash) }

// significant returns x rounded down to 16 binary digits, about five decimal ones.
func significant(x float64) float64 {
	const digits = 16
	fraction, exponent := math.Frexp(x)
	return math.Ldexp(math.Round(math.Ldexp(fraction, digits)), exponent-digits)
}
