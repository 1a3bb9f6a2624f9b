// Package hostile tests the engine against hostile servers, one test a trick.
//
// Each test runs a whole crawl, from seeds to a closed data directory, over its own network. Names, addresses and
// connections are in memory, and time is that of a testing/synctest bubble. So a time-out of two minutes or a
// Crawl-delay of a day costs nothing, and every wait is exact. There is one hostile host beside two honest ones.
// Every crawl must meet these conditions:
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
