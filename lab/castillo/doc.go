// Package castillo compares crawl orderings on the bench of Castillo, Marin, Rodriguez and Baeza-Yates
// 2004, "Scheduling Algorithms for Web Crawling": how much PageRank is fetched by how many pages, and how
// long the crawl takes.
//
// Experiment crawls a web by several orderings and numbers of fetchers (Figures 5, 6 and 10 to 12) and says
// which of the paper's claims hold. Parallel varies the crawler's bandwidth and the pages a connection
// (Figures 1 to 3 and 7 to 9, Table I). Beside each duration stand two bounds that no ordering beats: all
// bytes by the bandwidth, and the slowest site's own time, which politeness sets.
//
// The importance of a page is its PageRank in the whole web, computed in advance; only the ordering
// "optimal" is told.
package castillo
