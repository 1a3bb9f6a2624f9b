// Package wolf is the experiment that repeats the evaluation of Wolf, Squillante, Yu, Sethuraman and Ozsen, "Optimal
// Crawling Strategies for Web Search Engines" (WWW 2002), section 5, with the live allocate, change and schedule
// packages, and checks its conclusions.
//
// Pages. Page i of n, from 1, changes 1.5·n·p_i times an interval, p_i ∝ i^(θ-1): Zipf-like for θ = 0, all
// alike for θ = 1. In the mixture six of ten pages are Poisson, three Pareto, one quasi-deterministic.
// The interval is 1; only rate × interval matters.
//
// Weights. w = d Σ c b (eq. 8): clicks c fall as 1/m with the place m and by a fifth with each result page of ten; a
// page's places b lie around a centre; d is uniform. The paper leaves some points open. Here, the centre is uniform
// on 1 to 50, the width is 5, and neither depends on the page's rate. Further rows have weights that do.
//
// Figures 7, 8 and 9 compare the staleness of the optimum with that of uniform and proportional shares of the same
// budget. Figure 10 schedules crawls and measures their distances from their ideal times. Figure 6 uses the gaps
// between updates of recorded pages instead of the paper's one site. It fits four laws to the gaps of each page and
// tests each fit.
//
// Mixture crawls for many intervals by the live policies, and by a refresh.Plan that knows the laws. It compares them
// with the optimum.
//
// The paper prints only curves. The reference numbers were computed independently from its formulas, with the
// assumptions above and a million pages.
package wolf
