// Package keepfresh spends a budget of requests on keeping a copy fresh.
//
// A refresh.Policy says which page is worth a visit most. It knows nothing of hosts. A Keeper stands between it
// and the queues of due pages, from which the frontier takes each page when its host may be asked. A Pacer lets
// no more requests be made than the budget has.
//
// What a Keeper is told: a page entered, was visited, is retried, was forgotten, weighs something else; the
// budget or the delay changed. What it asks: the policy for the next page, and Hosts when a site may be asked. A policy
// that plans (refresh.Limited) asks Hosts how often.
// What it answers: the pages to put into the due queues now, each with its time. A slot of the budget is given to a
// page only when it is near, so that none keeps to a budget that is no longer in force.
//
// One site cannot slow the others. Picks are made as long as fewer than Pace.Ahead can be asked for when the budget
// pays for the next request. A pick whose site may not be asked by then (it is paused, out of its hours, blocked,
// backs off, takes long to answer, or its robots.txt cannot be fetched) does not count. It stays in its site's queue,
// where at most Pace.AtSite are. Further picks of the site are parked in memory: the policy holds them out, so that it
// goes on with pages of other sites, and they cost no request. As soon as one of the site's picks was visited a parked
// one takes its place: the one that is worth most then, if the policy tells (see Valuer). So a site that was shut for
// weeks comes back at the pace at which it may be asked, and one whose interval binds spends its visits well.
//
// A Keeper has no clock, no goroutine, no lock and no file. Every method is told the time.
package keepfresh
