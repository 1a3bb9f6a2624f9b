// Package change models how pages change, and computes how stale a copy is for every number of crawls.
//
// A page changes at the events of a renewal process in equilibrium: nobody knows when the last change
// was. If it is crawled every L seconds, the copy is stale for the part
//
//	A(L) = Φ(L)/L,   Φ(L) = ∫₀ᴸ Ge(s) ds,   Ge(s) = λ ∫₀ˢ Gbar(v) dv
//
// of the time, where Gbar is the tail of the gap between two changes and 1/λ its mean. A Process is one
// such law: Poisson, Weibull, Pareto, Gamma (Erlang for whole shapes), Deterministic.
// Φ is convex for every one of them (its second derivative is λ Gbar ≥ 0), so equal spacing is optimal, and A as a
// function of the number of crawls is convex and decreasing: what package allocate needs.
//
// A Quasi page changes at known instants with known probabilities. Its best crawl instants are longest
// paths with a fixed number of edges in a Monge graph, found exactly.
//
// Both are a Curve: staleness, gain of one more crawl, and the best times, over an interval of T
// seconds. A Page is the Curve of a Process; its Age is the time since the copy was last known fresh:
//
//   - 0 is the convention of Wolf et al.: x crawls cut the interval into x+1 parts, the first of which
//     starts with a fresh copy;
//   - +Inf forgets what was before: x crawls, x gaps, and a page without a crawl is stale;
//   - anything between is what a crawler knows about the last visit.
//
// A Rhythm is a page that may change at the same phase of every period, for ever; Rhythm.Over is its Quasi of one
// interval. Changes are drawn by Draw and Rhythm.Draw.
//
// Where a law or a rate is not known, it is estimated. From visits that tell only whether a page changed:
// Tally.BiasReduced, MaximumLikelihood; or Evidence, the likelihood of each rate of a grid, which gives a posterior
// together with the Belief from other pages of the site. A Mixture is the Process of a posterior. From the times of
// changes: Choose among laws. A Timetable estimates at which hour of the day a page changes, if it keeps one.
//
// All values are in seconds and changes a second, and results depend on their product only. Differences of staleness
// are computed without cancellation, for rate × interval from 1e-12 to 1e12.
//
// The formulas are those of Wolf, Squillante, Yu, Sethuraman and Ozsen (WWW 2002), section 2, corrected
// where the printed ones are wrong (equations 16 and 18, and the Pareto law without a mean).
package change
