// Package sim holds synthetic webs: worlds whose truth is known, for tests, for the demo and for
// experiments.
//
// A Web is computed from a seed. Nothing of it is stored: the content of a page follows from the seed, the site, the
// page's number and the time. So a web of any size takes a few kilobytes, and two processes with one seed see the
// same web. It is served over real HTTP on loopback addresses of its own, a host each, with the habits that a crawler
// meets on the real web: slow sites, robots.txt with a delay, sitemaps (plain, as an index, compressed), feeds,
// redirects, dead links, server errors, pages that forbid to be kept, validators that are right, missing or lying,
// and pages whose bytes differ at every request though nobody would see a change.
//
// A site is a tree of pages with links across it, of the shape that Castillo, Marin, Rodriguez and
// Baeza-Yates measured (2004): a few large sites and many small ones, 2 to 10 children a page, a
// lognormal number of links, most of them inside the site, about a third of them repeats. Some leaves
// are born after the start, and some vanish.
//
// Every page has a change process with a known rate (Process). A change replaces one paragraph of the visible text,
// the birth of a child adds a link to it; both make a new version. Callers in the same process can read the truth:
// Truth, Process, Reachable and Fresh return what a crawler can only estimate.
//
// Time comes from a *clock.Clock, so that months of change may pass in a test.
package sim
