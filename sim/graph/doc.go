// Package graph holds webs as graphs: links, sizes of pages and speeds of sites, but no text. Package discovery crawls
// them, and package importance ranks them.
//
// There are two kinds. A Stored web is in memory. Generate and Named build one page by page. Links may be copied from
// earlier links, so importance is as uneven as on the real web. Open reads one from a file that a crawl recorded or
// somebody published. A Stateless web has a similar shape but is computed: the size and links of a page follow from the
// seed and the page's number. So a web of ten million pages takes half a megabyte.
//
// The shape is that of Castillo et al. (2004) and the measurements that they cite. Site sizes follow a power law. A
// site is a tree with further links across it, and the numbers of links are lognormal. 15 % of the links lead to
// resources that are not pages, 85 % stay on the site, and a third are repeats. Shape measures this.
package graph
