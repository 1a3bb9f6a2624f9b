// Package lam holds the experiments on feeds, after Lam and Garcia-Molina (2001): in which order should a repository
// of changing pages send them to subscribers and downloaders? The schedulers are those of feed/broadcast/scheduler,
// which a live feed runs.
//
// The world is the paper's: 21,000 sites of 15, 60 and 990 pages, 85,680 chunks of 15 pages, a chunk sent
// in five minutes. A client wants an exponential number of whole sites, nine on average. Subscribers start
// with everything and stay; downloaders start with nothing and leave with their last chunk.
//
// The paper leaves some points open. These readings come nearest to its figures. Clients choose sites uniformly. Each
// page has its own mean interval between changes, uniform on (0, 150 days): with one common rate, a client that gets
// nothing for a week would be fresher than the paper reports. R/Q counts outstanding requests in chunks. Circular has
// the sites in random order.
//
// All schedulers of a run see the same clients and changes, drawn before the run. world.go draws them; run.go lets a
// facility send. There are three experiments: one load (lam, experiment.go), the paper's figures and tables
// (lam-figures, figures.go), and several facilities, one of which fails (lam-facilities, facilities.go).
package lam
