// Package lam is the experiments on feeds: what a repository of changing pages should send next to its
// subscribers and downloaders, after Lam and Garcia-Molina (2001), with the schedulers of
// feed/broadcast/scheduler, the ones that a live feed runs.
//
// The world is the paper's: 21,000 sites of 15, 60 and 990 pages, 85,680 chunks of 15 pages, a chunk sent
// in five minutes. A client wants an exponential number of whole sites, nine on average. Subscribers start
// with everything and stay; downloaders start with nothing and leave with their last chunk.
//
// The paper leaves some things open. Of its readings these were chosen, as they come nearest to its figures: sites are
// chosen uniformly from all; each page has a mean interval between changes of its own, uniform on (0, 150 days), since
// with one common rate a client that gets nothing for a week would be fresher than the paper reports; the outstanding
// request of R/Q is counted in chunks; Circular has the sites in random order.
//
// All schedulers of a run see the same clients and changes, drawn before it: world.go draws them, run.go
// lets a facility send, experiment.go is one load (lam), figures.go the paper's figures and tables
// (lam-figures), facilities.go several facilities of which one fails (lam-facilities).
package lam
