// Package replay is the experiment that recrawls the recorded histories of real pages: it drives the live
// policies of package refresh, their rivals, and two that know more than a crawler can, through years of
// recorded updates in seconds, and scores how fresh the copies were.
//
// Time. Each site's clock is shifted so that its last observation is the end of the window. The first part
// of the window is for learning, the last is scored. Pages of a site share a clock, so that changes which
// touch many pages at once stay simultaneous.
//
// Pages. A page takes part from its creation, or from the window's start if it is older, to its removal.
// It becomes known when it is created, with a fresh copy. The crawler is told of removals, or finds out by
// a crawl.
//
// Budget. A share of the mean number of living pages a day, in slots spread evenly, one crawl each. At each
// slot pages leave and enter, then the policy names a page.
//
// The full protocol. Pages of the window's start are known, with a copy. A page that comes later is found by the next
// visit to a known page of its folder, or of its site if its folder is new, and the next slots go to the pages that
// were found, whatever the policy. Until then it counts as stale. Removals are found out by a crawl. One crawl in ten
// fails and shows nothing. Neither the oracle nor hindsight is a bound there: whoever leaves quiet folders alone finds
// nothing in them. Politeness is not part of it.
//
// What a visit shows. Whether the page changed since the last visit, never how often; if wanted, when it
// changed last.
//
// Score. Freshness is the part of time, over the pages alive in the scored part, in which the copy equals
// the page. Age is the time since the first update that the copy lacks. Each policy runs twice: with equal
// weights, and with weights 1/rank in a random order of ranks.
//
// Intervals. Over seeds they say what the order of pages does. Over sites, or twelfths of the scored part, drawn again
// (bootstrap) they say how much rests on which there happen to be; the gain on the first policy is compared on the
// same draws.
//
// An oracle knows each page's mean rate of change. Hindsight knows every update that is to come, and no
// policy can be fresher with equal weights.
package replay
