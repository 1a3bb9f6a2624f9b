// Package freshness is the experiment that runs the refresh policies in a whole crawl, in simulated time: the
// live frontier discovers a synthetic web politely and visits its pages again as a policy says, within a budget
// of requests that both share. The web's pages change by processes that are known to the judge alone, so that
// what is true of the copies stands beside what is believed of them.
//
// Package replay drives the policies alone, over recorded histories of pages. Here discovery takes part of the
// budget, sites make visits wait, and pages enter as they are found.
package freshness
