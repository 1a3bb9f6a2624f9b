// Package castillo compares crawl orderings on the bench of Castillo, Marin, Rodriguez and Baeza-Yates 2004,
// "Scheduling Algorithms for Web Crawling": how much PageRank a number of pages brings, and how long the crawl takes.
//
// Experiment crawls a web by several orderings and numbers of fetchers (Figures 5, 6 and 10 to 12) and checks the
// paper's claims. Parallel varies the crawler's bandwidth and the pages per connection (Figures 1 to 3 and 7 to 9,
// Table I). Two bounds stand beside each duration; no ordering beats them. One is all bytes divided by the bandwidth.
// The other is the time that the slowest site takes under politeness.
//
// The importance of a page is its PageRank in the whole web, computed in advance. Only the ordering "optimal" knows
// it.
package castillo
