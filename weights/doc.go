// Package weights learns from a log of queries and clicks how much a stale copy of each page matters: how often it
// would embarrass a search engine with a wrong answer.
//
// A stale copy embarrasses only if a query returns it, the user clicks on it, and the page no longer answers the query.
// With
//
//   - b, the probability that a query returns page i at position j of result page k,
//   - c, the probability of a click on a result at that position,
//   - d, the probability that page i, once changed, no longer answers a query that returned its old copy,
//
// the weight of page i is the expected number of embarrassments per query while its copy is stale,
//
//	w_i = d_i Σ_jk c_jk b_ijk
//
// (Wolf, Squillante, Yu, Sethuraman and Ozsen 2002, eq. 8). An allocation of crawls should minimise Σ w_i × staleness.
//
// A Log reads sightings, counts in a Tree how each ended, and keeps what the estimates need. Its memory is proportional
// to the number of pages, of slots, and of pairs of the two that occurred. An Estimate shrinks each share towards the
// share of all pages, as if there had been some more sightings with the average outcome. So a page that was never
// shown, clicked or judged gets a plausible weight above 0, and a page with much data gets its own.
//
// Mix combines weights of different origin, such as these and PageRank. The package is pure: it uses no files and no
// clock, and the same log gives the same weights.
package weights
