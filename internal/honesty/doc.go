// Package honesty holds the simulator to the engine over real sockets: a web is served on loopback, each
// site on an address of its own, by servers that really sleep as long as the web says they take; the engine
// crawls it, the simulator crawls it, and both tell the Story of what they did.
//
// With one fetcher the order of all fetches has to be the same. With many, which of two sites is free first
// is a matter of milliseconds that no simulation knows: there the durations, the utilisations and the
// correlation of the ranks are set side by side.
//
//	go test ./internal/honesty -run '^$' -bench Honesty -benchtime 1x
//
// Package e2e does the same with the real sites, BenchmarkPrediction: from the graph that one crawl recorded
// the simulator predicts another.
//
// What is compared in simulated time, where every instant is exact, is in package hostile.
package honesty
