// Package graph holds webs as graphs: who links to whom, how large pages are and how fast sites, without
// a text. They are what discovery crawls and importance is computed on.
//
// There are two kinds. A Stored web is in memory: generated page by page as a growing web would be,
// with links copied from earlier links, so that importance becomes uneven as it is outside (Generate
// and Named); or read from a file, recorded by a crawl or published (Open; Read and the readers of other
// formats). A Stateless web has the same shape and is computed: any page's size and links follow from the
// seed and its number, so that a web of ten million pages costs half a megabyte.
//
// The shape is that of castillo 2004 and the measurements it rests on: site sizes from a power law, the
// tree of a site with links across it, lognormal numbers of links, 15 % of them to resources that are no
// pages, 85 % inside the site, a third of them repeats. Shape measures it.
package graph
