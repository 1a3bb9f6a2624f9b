// Package honesty compares the simulator with the engine over real sockets. A web is served on loopback, each site
// at its own address. The servers really sleep for the latencies of the web. The engine and the simulator both
// crawl it, and each gives a Story of what it did.
//
// With one fetcher the order of all fetches must be the same. With many, milliseconds decide which of two sites is
// free first, and no simulation knows them. Then the durations, utilisations and rank correlations are compared.
//
//	go test ./internal/honesty -run '^$' -bench Honesty -benchtime 1x
//
// Package e2e does the same with the real sites, BenchmarkPrediction: from the graph that one crawl recorded
// the simulator predicts another.
//
// What is compared in simulated time, where every instant is exact, is in package hostile.
package honesty
