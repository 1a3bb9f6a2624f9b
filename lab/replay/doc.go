// Package replay is the experiment that recrawls recorded histories of real pages. It runs the live policies of
// package refresh, their rivals, and two policies that know more than a crawler can. It takes seconds for years of
// recorded updates, and scores how fresh the copies were.
//
// Time. Each site's clock is shifted so that its last observation is the end of the window. The first part of the
// window is for learning, the last is scored. The pages of a site share a clock. So a change of many pages at once
// stays simultaneous.
//
// Pages. A page takes part from its creation, or from the window's start if it is older, to its removal. When it is
// created it becomes known, with a fresh copy. The crawler is told of a removal, or detects it by a crawl.
//
// Budget. The crawls a day are a share of the mean number of living pages. They are slots, evenly spaced, one crawl
// each. At each slot, pages leave and enter; then the policy names a page.
//
// The full protocol. Pages that exist at the window's start are known, with a copy. The next visit to a known page of
// its folder, or of its site if its folder is new, finds a new page. Pages that were found get the next slots,
// whatever the policy. A page counts as stale until its first crawl. A crawl detects a removal. One crawl in ten
// fails and shows nothing. In this protocol the oracle and hindsight are no bounds: they do not visit quiet folders,
// so they find no new pages there. Politeness is not simulated.
//
// Visits. A visit shows whether the page changed since the last visit, but not how often. With --last-modified it
// also shows when the page last changed.
//
// Score. Freshness is the part of time, over the pages alive in the scored part, in which the copy equals
// the page. Age is the time since the first update that the copy lacks. Each policy runs twice: with equal
// weights, and with weights 1/rank in a random order of ranks.
//
// Intervals. An interval over seeds shows the influence of the order of pages. With --bootstrap it is over resampled
// sites, or twelfths of the scored part, and shows the influence of the particular sites or months. The gain over the
// first policy is computed on the same draws.
//
// The oracle knows each page's mean rate of change. Hindsight knows every future update; with equal weights no policy
// can be fresher.
package replay
