// Package refresh decides which page to visit next. Its policies implement one interface, Policy.
//
// The caller tells a policy what happens to pages: a page is added, visited, gets another weight, or is removed. It
// asks one question: which page now? Times are arguments; a policy reads no clock. So the crawler and the lab run the
// same code, and the lab runs through years in seconds.
//
// The interface, and its reasons:
//
//   - Pages have dense numbers, so that a policy's memory is slices: some hundred bytes a page.
//   - A visit shows whether the page changed since the last one, not how often. An error shows nothing.
//   - Next holds a page out until the caller reports the visit. Several pages may be out at a time.
//   - A new page is ranked at once, by the beliefs about its folder and site. A removed page is
//     forgotten, but what others learned from it stays.
//   - Learning must not delay the caller: Index learns in pieces, and can be called between them (Study).
//   - The caller keeps the budget: it asks a policy without a plan once a slot. A policy with a plan
//     may answer "nothing until then".
//   - After a restart, the caller repeats the stored visits, in order of time.
//
// The policies:
//
//   - Uniform visits the page visited longest ago; Fixed visits each once an interval.
//   - Paced gives each page a rate by an Objective and visits the most overdue page: Proportional, Even,
//     Memoryless and Harmonic are rules of the literature.
//   - Plan is the chain of Wolf et al.: change, allocate, schedule, once an interval, within what each site allows
//     (Limited). In the lab it can know the laws of pages (NewKnownPlan).
//   - Index visits the page with the highest value now, without a plan or a multiplier.
//   - rival.Adaptive has the rules of other crawlers.
//
// Policies do not know rates. Each page has a posterior over a grid of rates (change.Evidence, kept as
// change.Packed). Its prior comes from the pages of its group and of the groups above. A group is a folder with
// enough pages, or the site.
//
// With Learning.Shared, Index also learns that pages of a group change together. Each group has a hazard of shared
// changes, day by day, learned from all visits to its pages. If three pages of a folder have changed, the others are
// probably stale, and a change that the folder explains says little about the page. Index also learns which share of
// these changes reaches a page: none, if pages change independently. In a folder too small for that, a page that
// changed is a hint about the others, and about the page with the folder's name.
//
// A visit to one page shows something about the others. So a folder without recent visits is worth a look at one page.
// With Learning.Hours, Index detects a page that changes at a certain hour of the day, and visits it right after that
// hour. A site's own statements about changes (sitemaps, feeds, pings) are claims. Index.Claim trusts them as far as
// earlier claims were right. Default is the setting that did best on recorded histories.
//
// A Ranking finds the page with the highest value without looking at all pages. Values rise no faster than a power of
// time, so each page has a time before which it need not be valued again.
package refresh
