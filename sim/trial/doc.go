// Package trial puts the shard of a crawl on trial: the code that runs live decides, on virtual time, about a
// synthetic web, while faults come at moments drawn from a seed and checkers watch what must hold.
//
// A Case is drawn from a seed: some sites of some pages, the settings of a crawl, and faults. Run carries it out in one
// goroutine, an event after the other. The node of it does what a shard asks for: it makes requests of the web, makes
// records of the answers, and keeps them in a real store and a real seen test, on a file system in memory that loses in
// a crash what was not synced. A case runs through several lives, each from an opening of the directory to its end:
// by a crash, by a stop, or because nothing was left to do. The last part of a case is calm, so that what has to happen
// in the end can be asked for.
//
// The same case makes the same trace, byte for byte. A seed that fails is told with the command that replays it, and
// Shrink takes sites, pages and faults out of it as long as it goes on failing.
//
// What holds is checked in check.go and in a file for each concern. Hosts are asked politely as their servers see it
// (politeness.go). The crawl obeys robots.txt (robots.go) and operators, and what is purged is gone (orders.go). A
// budget is kept, and one site's trouble leaves it to the others (budget.go). Nothing that was acknowledged is lost,
// every page is queued, visited or refused, and no cash comes from nothing (rows.go). Plants are faults that are put
// into the crawl on purpose, one at a time: a checker that finds none of them is of no use.
//
// To try seeds, to try them with a planted fault, to see all that happens in one, and without some of its parts:
//
//	go run ./sim/trial/run -seed 1 -seeds 1000
//	go run ./sim/trial/run -seeds 1000 -plant cash-twice
//	go run ./sim/trial/run -seed 17 -trace
//	go run ./sim/trial/run -seed 17 -trace -without f3,s2,pages=4
//
// A month takes -days 30. There is one shard here. What several shards hand over to one another, over a wire that loses
// and repeats and with disks that are slow, while they are cut off, TestHandOvers of package crawl has on trial.
package trial
