// Package adversary is a web that means harm, for trials of the whole crawler.
//
// A Web has hostile hosts and honest ones. Each hostile host plays one Kind of attack; some play answers
// that are drawn at random from a grammar: a status, header lines, a coding, a body, a framing, a pace and
// an end of the connection, each honest or not. The same seed makes the same web. An honest host has a known
// set of pages. The web notes every request with its beginning and its end, so that it can tell afterwards
// whether a host was asked too soon, and how fast the honest hosts' pages were taken.
//
// The web is served in two ways. The tests of this package serve it in memory and in simulated time, to the
// engine. The command serves it on loopback from a process of its own, to the built program, which runs in a
// memory cgroup:
//
//	make adversary SEED=7 MINUTES=60
//
// What must hold of every run: the program is not killed, every page of the honest hosts is stored, at 95 %
// or more of the pace at which they are crawled alone, and no host is asked sooner than politeness allows.
//
// To add an attack, add a line to one of the tables of kinds. It says in a sentence what it attacks.
package adversary
