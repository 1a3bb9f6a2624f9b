// Package adversary is a hostile web, for trials of the whole crawler.
//
// A Web has hostile hosts and honest ones. Each hostile host plays one Kind of attack. Some draw answers at random
// from a grammar: a status, header lines, a coding, a body, a framing, a pace and an end of the connection, each
// honest or not. The same seed makes the same web. An honest host has a known set of pages. The web logs the
// beginning and end of every request. From the log it computes whether a host got a request too soon, and how fast
// the honest hosts were crawled.
//
// The web is served in two ways. The tests of this package serve it in memory and in simulated time, to the
// engine. The command serves it on loopback from a process of its own, to the built program, which runs in a
// memory cgroup:
//
//	make adversary SEED=7 MINUTES=60
//
// In every run the program must not be killed, and every page of the honest hosts must be stored. Their pace must
// be at least 95 % of their pace when crawled alone. No host may get a request sooner than politeness allows.
//
// To add an attack, add a line to one of the tables of kinds, with a sentence about what it attacks.
package adversary
