// Package sequence says in which order one crawler that never rests should visit pages that change at
// different rates.
//
// Page i changes as a Poisson process of rate μ_i; a visit takes a random time X, whose law is an
// AccessTime, and shows the page as it was when the visit began. Being out of date costs c_i a second.
// If d visits, of whatever pages, lie between two of page i, it is out of date for
//
//	d·E[X] − (1 − h_i^d)/μ_i,   h_i = E[e^{−μ_i X}]
//
// seconds on average between the two (Liu and Nain 2005, Lemma 3), which is convex in d: visits of a page should be
// spaced evenly. Not all pages can have even spacing at once, so a sequence is made in two steps:
//
//   - frequencies, the share of the visits that each page has. Pages.Bound gives those that would be
//     best if every page had even spacing, and their cost, which no sequence beats (Propositions 9 and
//     10). Pages.Randomized gives the best for a crawler that draws every page again (Proposition 11).
//   - an order that has these frequencies. Golden places the visits of a cycle at the multiples of the
//     golden ratio, so that the distances of each page take three values at most. Balanced, which the
//     paper names and does not pursue, splits the cycle by regular words again and again, so that
//     frequencies that allow even spacing get it. Apart keeps the visits of a page so far from each
//     other that it is never a whole visit ahead or behind.
//
// Pages.Cost is the exact cost of any cyclic order. The paper says that the golden ratio comes within 5 % of the
// bound. That is true only if visits are slow compared with changes; the limit is φ⁵/10 = 1.109 (TestGoldenLimit).
//
// Times are in seconds, rates a second. All is deterministic but Draw, and safe for concurrent use.
package sequence
