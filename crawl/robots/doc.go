// Package robots decides what the robots.txt of sites allow the crawl (RFC 9309). It does no I/O and has no clock.
//
// Parse reads a file for one crawler into Rules, in time and memory proportional to the file. Rules decide whether a
// URL may be fetched, at a bounded cost for every file and URL.
//
// A Book holds the rules of sites, in a bounded number of bytes, and where to look for their robots.txt. Judge
// interprets an answer, or its absence. Standing.Look applies changed rules to a page. The caller makes the requests,
// stores what is fetched, and counts the failures.
package robots
