// Package robots decides what sites ask of the crawl in their robots.txt (RFC 9309). It opens nothing
// and has no clock.
//
// Parse reads a file for one crawler into Rules, in time and memory in proportion to the file. Rules
// say of a URL whether it may be fetched, at a bounded cost whatever the file and the URL.
//
// A Book keeps what sites ask, in a bounded number of bytes, and where their robots.txt is looked for.
// Judge says what an answer means, or that there was none; Standing.Look what other rules mean for a
// page. The caller makes the requests, stores what is fetched, and counts the failures.
package robots
