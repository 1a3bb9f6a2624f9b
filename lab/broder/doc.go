// Package broder is the experiment on caches before the URL-seen test: Figures 2 to 5 of Broder, Najork
// and Wiener, "Efficient URL Caching for World Wide Web Crawling" (2003), with the policies that run in a
// crawl.
//
// A synthetic web is crawled in simulated time by several processes, each of which owns the hosts that a
// hash gives it. The links of the pages that one process fetches, in the order in which the fetches end
// and repeats included, are its full trace; those of them that lead to other processes' hosts are its
// cross trace, which a cache at the sender sees. Every policy answers every trace at every size, and is
// drawn by its miss rate and by its distance to MIN, which no policy can beat.
//
// A host is asked again ten times as long after an answer as the answer took, as in the paper. The real
// webs are crawled by one process, and their pages' links are those that they carry, repeats included; a
// recorded trace (crawl --record-trace) takes the web's place with --trace. What a synthetic web says
// is a check on code: its links do not repeat as those of real hosts do, whose pages share their
// navigation. Claims about the paper's critical size want recorded traces.
package broder
