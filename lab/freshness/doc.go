// Package freshness is the experiment that runs the refresh policies in a whole crawl, in simulated time. The live
// frontier discovers a synthetic web politely, and visits pages again when a policy says so. Both share one budget of
// requests. Only the judge knows how the pages change. So it can compare the true freshness of the copies with the
// freshness that the policy believes.
//
// Package replay runs the policies alone, on recorded histories of pages. Here, discovery takes part of the budget,
// visits wait for their site, and pages enter when they are found.
package freshness
