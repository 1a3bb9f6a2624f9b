// Package weights learns from a log of queries and clicks how much it matters that the copy of a page is
// stale: how often a query would be answered wrongly by it, to the embarrassment of whoever answers.
//
// A stale copy embarrasses only if a query returns it, the user clicks on it, and what is found there is
// no answer any more. With
//
//   - b, the probability that a query returns page i at position j of result page k,
//   - c, the probability of a click on a result that stands there,
//   - d, the probability that page i, once changed, no longer answers whoever came by the old copy,
//
// the weight of page i is the embarrassments per query while its copy is stale,
//
//	w_i = d_i Σ_jk c_jk b_ijk
//
// (Wolf, Squillante, Yu, Sethuraman and Ozsen 2002, eq. 8), and Σ w_i × staleness is what an allocation
// of crawls should make small.
//
// A Log takes in sightings, counts how each ended in a Tree, and keeps what the estimates need: memory in
// proportion to pages, slots, and pairs of them that occurred. An Estimate is made of it by shrinking
// each share towards that of all others, as if some sightings more had been seen that were like the
// others'. So a page that was never shown, never clicked or never judged has a weight that makes sense,
// above 0, and one with much data has its own.
//
// Mix combines weights of different origin, such as these and PageRank. The package is pure: no files, no
// clock, and the same log gives the same weights.
package weights
