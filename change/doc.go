// Package change models how pages change, and computes how stale a copy is for every number of crawls.
//
// A page changes at the events of a renewal process in equilibrium: the time of the last change is unknown. If the page
// is crawled every L seconds, its copy is stale for the fraction
//
//	A(L) = Φ(L)/L,   Φ(L) = ∫₀ᴸ Ge(s) ds,   Ge(s) = λ ∫₀ˢ Gbar(v) dv
//
// of the time. Gbar is the tail of the gap between two changes, 1/λ its mean. A Process is one such law: Poisson,
// Weibull, Pareto, Gamma (Erlang for integer shapes) or Deterministic. Φ is convex for each of them, because its second
// derivative is λ Gbar ≥ 0. So equal spacing is optimal, and A is a convex, decreasing function of the number of
// crawls. Package allocate relies on both.
//
// A Quasi page changes at known instants with known probabilities. Its best crawl times are longest paths with a fixed
// number of edges in a Monge graph. They are exact.
//
// Both kinds of page are a Curve: the staleness, the gain of one more crawl, and the best times, over an interval of T
// seconds. A Page is the Curve of a Process. Its Age is the time since the copy was last known to be fresh:
//
//   - 0 is the convention of Wolf et al.: x crawls cut the interval into x+1 parts, and the copy is fresh at the start
//     of the first.
//   - +Inf disregards earlier visits: x crawls leave x gaps, and a page without a crawl is stale.
//   - Any value between is what a crawler knows from the last visit.
//
// A Rhythm is a page that may change at the same phase of every period, forever. Rhythm.Over returns its Quasi for one
// interval. Draw and Rhythm.Draw draw changes.
//
// Several estimators find an unknown law or rate:
//
//   - From visits that show only whether a page changed: Tally.BiasReduced and MaximumLikelihood.
//   - From the same visits and other pages: Evidence holds the likelihood of each rate of a grid. With a Belief,
//     learned from other pages of the site, it gives a posterior. A Mixture is the Process of a posterior.
//   - From the times of changes: Choose selects a law.
//   - A Timetable estimates at which hour of the day a page changes, if it does so regularly.
//
// Lengths are in seconds and rates in changes per second; results depend only on their product. Differences of
// staleness are computed without cancellation, for rate × interval from 1e-12 to 1e12.
//
// The formulas are those of Wolf, Squillante, Yu, Sethuraman and Ozsen (WWW 2002), section 2, corrected where the
// printed ones are wrong: equations 16 and 18, and the Pareto law without a mean.
package change
