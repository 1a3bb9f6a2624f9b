// Package scheduler decides what a feed sends next, and measures how fresh its clients are.
//
// One repository is sent to many. The feed sends one Chunk at a time, a run of pages of one site, to every client
// that needs it. A subscriber stays and wants every change; a downloader wants one whole copy and leaves. The order
// decides how fresh they all are.
//
// Demand is the state: who wants which chunks, and which pages of them each lacks since when. It is told
// of what happens, Join, Change, Sent, Leave, tells its Scheduler what that changes, and keeps the
// metrics of Lam and Garcia-Molina: freshness and age over clients and over data (Read), lags (ItemLag,
// ImageLag), downloaders' delay with the unserved counted (Delays). A feed is the loop
//
//	for {
//		chunk, ok := demand.Pick(now)   // or wait for a change or a client
//		…                               // send the current versions of Missing(chunk)
//		demand.Sent(chunk, now)
//	}
//
// and so is a simulation: nothing here knows what time it is, waits, or does I/O.
//
// The schedulers differ in what they send first:
//
//	Circular    each in turn
//	Popularity  the most wanted: R
//	RQ          what completes small requests: R/Q
//	RxW         the most wanted for the longest: R·W
//	RxC         the most wanted that will stay fresh: R·C
//	Lifetime    what has bought the most fresh life, for a set Objective: ours, and the default
//
// All keys are per byte, R counts clients by their weight and pages by theirs. Each decision is exact
// and costs O(log n), or O(log² n) on average where time itself moves the keys; each type says its own.
// Equal keys go to the lowest chunk number, so that runs can be compared.
//
// Times are float64 seconds from an origin not long before, such as the start of the server: keys square
// them, and a century loses nothing that matters, but the seconds since 1970 would.
package scheduler
