// Package graph holds webs as graphs: links, sizes of pages and speeds of sites, without texts. Package discovery
// crawls them, and package importance ranks them.
//
// There are two kinds. A Stored web is in memory. Generate and Named grow one page by page; links are copied from
// earlier links, which makes importance as uneven as on the real web. Open reads one from a file that a crawl
// recorded or somebody published. A Stateless web has the same shape but is computed: the seed and the number of a
// page give its size and links. So a web of ten million pages takes half a megabyte.
//
// The shape is that of castillo 2004 and the measurements it rests on: site sizes from a power law, the
// tree of a site with links across it, lognormal numbers of links, 15 % of them to resources that are no
// pages, 85 % inside the site, a third of them repeats. Shape measures it.
package graph
