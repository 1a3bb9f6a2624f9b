// Package sim holds synthetic webs for tests, the demo and experiments. Everything about them is known.
//
// A Web is computed from a seed and stores no pages: the content of a page follows from the seed, the site, the page's
// number and the time. So a web of any size takes a few kilobytes, and two processes with the same seed see the same
// web. It is served over real HTTP, each host on a loopback address of its own. It has what a crawler meets on the real
// web: slow sites, robots.txt with a delay, sitemaps (plain, as an index, compressed), feeds, redirects, dead links,
// server errors, pages that must not be archived, validators that are right, missing or wrong, and pages whose bytes
// differ at every request although their text does not.
//
// A site is a tree of pages with further links across it. Its shape is as Castillo, Marin, Rodriguez and Baeza-Yates
// measured it (2004): a few large sites and many small ones, 2 to 10 children a page, and a lognormal number of links.
// Most links stay on the site, and about a third are repeats. Some leaves appear after the start, and some vanish.
//
// Every page has a change process with a known rate (Process). A change replaces one paragraph of the visible text.
// When a child appears, its parent gets a link to it. Both make a new version. Code in the same process can read the
// truth: Truth, Process, Reachable and Fresh return what a crawler can only estimate.
//
// Time comes from a *clock.Clock, so months of change can pass in a test.
package sim
