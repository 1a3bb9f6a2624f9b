// Package sequence computes cyclic schedules: the order in which one crawler that never idles should visit pages that
// change at different rates.
//
// Page i changes as a Poisson process of rate μ_i. A visit takes a random time X with the distribution AccessTime, and
// shows the page as it was when the visit began. A page that is out of date costs c_i per second. If page i is visited
// again d visits later, it is out of date in between for an expected
//
//	d·E[X] − (1 − h_i^d)/μ_i,   h_i = E[e^{−μ_i X}]
//
// seconds (Liu and Nain 2005, Lemma 3). This is convex in d, so the visits of a page should be evenly spaced. Not all
// pages can be evenly spaced at once, so a schedule is made in two steps.
//
// The first step chooses frequencies: each page's share of the visits.
//
//   - Pages.Bound returns the optimal frequencies for even spacing, and their cost. No sequence costs less
//     (Propositions 9 and 10).
//   - Pages.Randomized returns the optimal frequencies for a crawler that draws the page of each visit independently
//     (Proposition 11).
//
// The second step arranges the visits of a cycle with these frequencies.
//
//   - Golden is the golden-ratio policy: it places visits at multiples of the golden ratio, so that the distances
//     between visits of a page take at most three values.
//   - Balanced builds a balanced word, which the paper names and does not pursue. Frequencies that allow even spacing
//     get it.
//   - Apart is a Pfair schedule: no page is ever a whole visit ahead of or behind its share.
//   - Draw draws each page independently.
//
// Pages.Cost is the exact cost of any cycle. The paper says that the golden ratio comes within 5 % of the bound. That
// is true only if visits are slow compared with changes; the limit is φ⁵/10 = 1.109 (TestGoldenLimit).
//
// Times are in seconds, rates per second. Everything but Draw is deterministic. All functions are safe for concurrent
// use.
package sequence
