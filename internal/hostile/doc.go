// Package hostile holds the engine against servers that mean harm, one test a trick.
//
// Each test runs a whole crawl, from seeds to a closed data directory, over a network of its own: names,
// addresses and connections live in memory, time is the bubble's of testing/synctest, so that a time-out
// of two minutes or a Crawl-delay of a day costs nothing and every wait is exact. A hostile host stands
// beside two honest ones, and of every crawl the same is asked:
//
//   - it ends, for the reason it should;
//   - every page of the honest sites is stored, at the pace that politeness alone allows: the hostile
//     host held nobody up;
//   - no host saw two requests at once, nor one sooner than the delay after the end of the last answer;
//   - nothing was dialled that is not a host's public address;
//   - the heap never grew past a ceiling, and no goroutine is left;
//   - explain names the gate or the outcome that stopped each hostile URL, in the engine that ran and in
//     the directory it left alike.
//
// What needs real sockets (a reset that overtakes data, an idle connection found closed) is tested in
// package fetch.
package hostile
