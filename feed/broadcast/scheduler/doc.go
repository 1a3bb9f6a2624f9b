// Package scheduler decides what a feed sends next, and measures how fresh its clients are.
//
// One repository is sent to many clients. The feed sends one Chunk at a time, a run of pages of one site, to every
// client that needs it. A subscriber stays and wants every change; a downloader wants one whole copy and leaves. The
// order of sending decides how fresh the clients are.
//
// Demand is the state: which client wants which chunks, and which pages it lacks since when. The caller reports events:
// Join, Change, Sent, Leave. Demand reports the effects to its Scheduler. It keeps the metrics of Lam and
// Garcia-Molina: freshness and age over clients and over data (Read), lags (ItemLag, ImageLag), and the delay of
// downloaders, the unserved included (Delays). A feed is the loop
//
//	for {
//		chunk, ok := demand.Pick(now)   // or wait for a change or a client
//		…                               // send the current versions of Missing(chunk)
//		demand.Sent(chunk, now)
//	}
//
// A simulation is the same loop: nothing here reads a clock, waits, or does I/O.
//
// The schedulers differ in what they send first:
//
//	Circular    each in turn
//	Popularity  the most requested: R
//	RQ          the one that completes small requests: R/Q
//	RxW         the most requested for the longest: R·W
//	RxC         the most requested that will stay fresh: R·C
//	Lifetime    the one that bought the most fresh life, for an Objective: ours, and the default
//
// All keys are per byte. R is weighted by client and by page. Each decision is exact. It costs O(log n), or O(log² n)
// on average if keys change with time; the comment of each type states its cost. Of equal keys the lowest chunk number
// goes first, so that runs are reproducible.
//
// Times are float64 seconds since a recent origin, such as the start of the server. Keys square them: a century is
// precise enough, the seconds since 1970 are not.
package scheduler
