// Package broder is the experiment on caches before the URL-seen test: Figures 2 to 5 of Broder, Najork
// and Wiener, "Efficient URL Caching for World Wide Web Crawling" (2003), with the policies that run in a
// crawl.
//
// Several processes crawl a synthetic web in simulated time. A hash divides the hosts among them. The full trace of a
// process holds the links of the pages that it fetches, with repeats, in the order in which the fetches end. Its
// cross trace holds only the links to hosts of other processes: a cache at the sender sees these. Every policy
// answers every trace at every size. The plots show its miss rate, and the ratio to the miss rate of MIN, which no
// policy can beat.
//
// As in the paper, a host rests after an answer for ten times as long as the answer took. One process crawls the real
// webs; their pages have the recorded links, with repeats. With --trace, a recorded trace (crawl --record-trace)
// replaces the web. A synthetic web checks only the code: its links do not repeat like those of real hosts, whose
// pages share their navigation. Claims about the paper's critical size need recorded traces.
package broder
