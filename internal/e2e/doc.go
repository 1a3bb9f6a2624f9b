// Package e2e tests the freshet binary from outside, as its users and their other tools see it.
//
// TestMain builds the binary once. Each test crawls real sites, which package sites serves on loopback. Independent
// programs (internal/oracle) judge the result:
//
//   - TestRealSites: the pages stored are exactly those that a walk over the files finds, byte for
//     byte. Three small sites; with FRESHET_ALL_SITES=1 (make test-real-sites) all fourteen at once.
//   - TestWARCReaders: other software reads every WARC file to its end, a separate program finds every
//     digest right, and the CDXJ index says what another indexer says.
//   - TestKillLoop: a crawl killed at fifty random instants loses nothing, repeats little, and is as
//     polite by the servers' log as one that was never killed.
//   - TestCluster: three processes over three NATS servers, with kills, a lost disk, and servers and an object
//     store that are away for a while. TestClusterOfSites: what they have is what one process has.
//   - TestMonth: an operator's month, by a clock on which it takes half a minute: reload, block, purge,
//     snapshot, destruction, restore, migration, import and export.
//   - BenchmarkPrediction: the simulator predicts crawls of the real sites from the graph that another
//     crawl recorded.
//   - TestReadme, TestOperations, TestServing: every command in a block of the README and of these pages in docs does
//     what they say. The commands that pages name elsewhere are run by package main of cmd/freshet.
//
// The tests need Node.js and the modules of internal/oracle, which make setup (a part of make test)
// installs; without them they fail. The sites come from Debian packages: on a machine that cannot
// fetch these the tests are skipped with a message, but fail if the environment has CI set.
package e2e
