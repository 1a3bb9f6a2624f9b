// Package wolf is the experiment that repeats the evaluation of Wolf, Squillante, Yu, Sethuraman and Ozsen,
// "Optimal Crawling Strategies for Web Search Engines" (WWW 2002), section 5, with the live allocate,
// change and schedule packages, and says of its conclusions which hold.
//
// Pages. Page i of n, from 1, changes 1.5·n·p_i times an interval, p_i ∝ i^(θ-1): Zipf-like for θ = 0, all
// alike for θ = 1. In the mixture six of ten pages are Poisson, three Pareto, one quasi-deterministic.
// The interval is 1; only rate × interval matters.
//
// Weights. w = d Σ c b (eq. 8): clicks c fall as 1/m with the place m and by a fifth with each result
// page of ten; a page's places b lie around a centre; d is uniform. What the paper does not say is chosen
// here: the centre is uniform on 1 to 50, the width 5, and neither depends on the page's rate. Rows of
// their own show weights that do.
//
// Figures 7, 8 and 9 put the staleness that the optimum reaches beside that of uniform and proportional
// shares of the same budget. Figure 10 schedules crawls and looks how far they land from their ideal
// times. Figure 6 takes the gaps between updates of recorded pages instead of the paper's one site: it
// fits four laws to each page, and tests for each page which of them the gaps contradict.
//
// Mixture crawls for many intervals by the live policies, and by refresh.Plan told the laws, beside the optimum.
//
// The numbers that are put beside the measured ones were computed independently from the paper's formulas
// with the assumptions above, at a million pages; the paper prints curves only.
package wolf
