// Package keepfresh spends a budget of requests on keeping a copy fresh.
//
// A refresh.Policy chooses the page whose visit is worth most. It knows nothing about hosts. A Keeper stands between
// the policy and the queues of due pages, from which the frontier takes each page when its host may be requested. A
// Pacer limits requests to the budget.
//
// The caller reports events to a Keeper: a page entered, was visited, is retried, was forgotten or has another weight;
// the budget or the delay changed. The Keeper asks the policy for the next page, and Hosts when a site may be
// requested. A policy that plans (refresh.Limited) asks Hosts how often a site may be requested. Pick returns the pages
// to put into the due queues now, each with its time. A page gets a slot of the budget only shortly before it, so that
// no page has a slot of an outdated budget.
//
// One site cannot slow the others. The Keeper picks pages while fewer than Pace.Ahead of its picks can be requested
// when the budget pays for the next request. A pick does not count if its site may not be requested by then: the site
// is paused, outside its hours, blocked, backs off or takes long to answer, or its robots.txt cannot be fetched. Such a
// pick stays in its site's queue, which holds at most Pace.AtSite. Further picks of the site are parked in memory. The
// policy holds parked pages out and goes on with pages of other sites; they cost no request. When one of the site's
// picks has been visited, a parked one takes its place: the one that is worth most then, if the policy is a Valuer. So
// a site that was shut for weeks comes back at the pace that it allows, and a site whose interval is the limit spends
// its visits well.
//
// A Keeper has no clock, no goroutine, no lock and no file. Every method takes the time.
package keepfresh
