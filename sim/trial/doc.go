// Package trial tests the shard of a crawl. The live code crawls a synthetic web in virtual time. Faults come at
// moments drawn from a seed, and checkers check the invariants.
//
// A Case is drawn from a seed: sites with pages, the settings of a crawl, and faults. Run runs it in one goroutine,
// one event after another. Its node does what the shard orders: it requests pages from the web, makes records from
// the answers, and stores them in a real store and a real seen test. The file system is in memory and loses
// unsynced writes in a crash. A case has several lives. Each begins with opening the directory and ends with a
// crash, a stop, or because nothing is left to do. The last part of a case is calm, so that the checkers can check
// what must happen in the end.
//
// The same case makes the same trace, byte for byte. A failing seed is reported with the command that replays it.
// Shrink removes sites, pages and faults from it while it still fails.
//
// The checks are in check.go and in a file for each concern. Servers see polite requests (politeness.go). The crawl
// obeys robots.txt (robots.go) and operators, and what is purged is gone (orders.go). The budget is kept, and other
// sites get what a site in trouble does not use (budget.go). A restart keeps each host's wait (twin.go). Nothing
// acknowledged is lost, every page is queued, visited or refused, no host stays reserved, and no cash comes from
// nowhere (rows.go). Plants are deliberate bugs in the crawl, one at a time: a checker that finds none of them is
// useless.
//
// To try seeds, to try them with a planted fault, to see all that happens in one, and without some of its parts:
//
//	go run ./sim/trial/run -seed 1 -seeds 1000
//	go run ./sim/trial/run -seeds 1000 -plant cash-twice
//	go run ./sim/trial/run -seed 17 -trace
//	go run ./sim/trial/run -seed 17 -trace -without f3,s2,pages=4
//
// A month takes -days 30. There is one shard here. TestHandOvers of package crawl tests several shards, over a
// network that loses and repeats messages and with slow disks.
package trial
