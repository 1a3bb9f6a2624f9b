package frontier

import (
	"math"

	"freshet/weburl"
)

// Payer is an Ordering by cash. Pages hand importance on by their links; a page's cash is what all links to it have
// carried. PageOrder is weburl.CashOrder, so that the keeper of the queue can move a page when more cash comes.
type Payer interface {
	Ordering
	// Owes returns how much a page hands on when it is visited. Cash is all that has ever come to it, paid is what it
	// handed on before.
	Owes(cash, paid float64) float64
	// Pay returns the cash that each link carries when a page hands cash on to this many different links, 1 or more;
	// without cash it is 0. A seed starts with what a page of cash 1 pays its only link.
	Pay(cash float64, links int) float64
}

// Pay returns what the ordering's own Pay returns, or 0 if the ordering is not a Payer.
func Pay(o Ordering, cash float64, links int) float64 {
	if p, ok := o.(Payer); ok {
		return p.Pay(cash, max(1, links))
	}
	return 0
}

// InLinks prefers the page with the most known pages that link to it, in the site and among sites.
type InLinks struct{}

// PageOrder puts much cash first.
func (InLinks) PageOrder(l weburl.Link) uint64 { return weburl.CashOrder(l.Cash) }

// SitePriority returns the cash of the site's top page.
func (InLinks) SitePriority(s SiteState) float64 { return weburl.OrderCash(s.Top.Order) }

// Owes returns 1 until the page has paid: its links count once, however often it is visited.
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

// OPIC prefers the page with the most cash, in the site and among sites. A page hands its cash to its links in equal
// parts: on-line page importance computation, Abiteboul, Preda and Cobena 2003.
type OPIC struct{}

// PageOrder puts much cash first.
func (OPIC) PageOrder(l weburl.Link) uint64 { return weburl.CashOrder(l.Cash) }

// SitePriority returns the cash of the site's top page.
func (OPIC) SitePriority(s SiteState) float64 { return weburl.OrderCash(s.Top.Order) }

// Owes returns what came to the page since it last handed on.
func (OPIC) Owes(cash, paid float64) float64 { return max(0, cash-paid) }

// Pay returns an equal part.
func (OPIC) Pay(cash float64, links int) float64 { return cash / float64(links) }

// CashSum is OPIC in a site, and prefers the site whose queued pages have the most cash together: the longest queue,
// weighted by importance. So it fetches important pages early, and keeps the sites open that hold most of them.
type CashSum struct{ OPIC }

// SitePriority returns the cash of all queued pages to some five digits: sums that differ by rounding alone
// are equal.
func (CashSum) SitePriority(s SiteState) float64 { return significant(s.Cash) }

// significant returns the first 16 binary digits of x, some five decimal ones.
func significant(x float64) float64 {
	const digits = 16
	fraction, exponent := math.Frexp(x)
	return math.Ldexp(math.Round(math.Ldexp(fraction, digits)), exponent-digits)
}
