// Package refresh decides which page is visited next: one interface, Policy, with several answers.
//
// A policy is told what happens to pages (a page is there, was visited and had changed or not, has another
// weight, is gone) and asked one question: which page, now? It is told times and asks for none, so that
// the crawler and the lab run the same code, the lab through years in seconds.
//
// What is asked of it, and why the interface is as it is:
//
//   - Pages have dense numbers, so that a policy's memory is slices: some hundred bytes a page.
//   - A visit shows whether the page changed since the last one, not how often. An error shows nothing.
//   - Next holds a page out until it is told how the visit ended: several may be out at a time.
//   - A page that enters is ranked at once, from what is believed of its folder and site; one that goes is
//     forgotten, but not what others learned from it.
//   - Learning must not delay the caller: Index learns in pieces, and can be told and asked between them (Study).
//   - The budget is the caller's: a policy with no times of its own is asked once a slot. One with a plan
//     may say "nothing until then".
//   - After a restart the visits that are stored are told again, in order of time.
//
// The policies:
//
//   - Uniform visits the page visited longest ago; Fixed visits each once an interval.
//   - Paced gives each page a rate by an Objective and visits what is most overdue: Proportional, Even,
//     Memoryless, Harmonic are the rules of the literature.
//   - Plan is the chain of Wolf et al.: change, allocate, schedule, once an interval, within what each site allows
//     (Limited). The lab tells it the laws of pages (NewKnownPlan).
//   - Index visits what is worth most now; no plan, no multiplier.
//   - rival.Adaptive are the rules of other crawlers.
//
// Rates are believed, not known: each page has a posterior over a grid of rates (change.Evidence, kept as
// change.Packed) from the prior that the pages of its group make together, with some of those above it, a group being
// a folder with enough pages, or the site.
// Index with Learning.Shared also believes that pages of a group change together: each group has a hazard
// of shared changes, day by day, learned from all visits to its pages. Three changed pages of a folder make
// the rest probably stale, and a change that the folder explains says little about the page. How much of what others
// share reaches a page is learned as well: nothing, where pages change each alone.
// A visit to one of them tells of the others: a folder that nobody visited for a while is worth a look at one page.
// With Learning.Hours a page that keeps an hour of the day is found out and visited right after it.
// What a site says of its changes (sitemaps, feeds, pings) is a claim, believed as far as earlier ones were
// right: Index.Claim.
// Default is the setting that did best on recorded histories.
//
// A Ranking finds the page of highest value without looking at all of them: values rise, but not faster
// than a power of the time, so each page says how long it need not be looked at.
package refresh
