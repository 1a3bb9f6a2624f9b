// Package cache measures Freshet's cache policies beside other caches for Go, on one trace: what a hit
// costs, and what a request costs and misses. It is all benchmarks:
//
//	go test -C bench ./cache -run '^$' -bench . -benchtime 20000000x
//
// FRESHET_TRACE names a recorded trace (crawl --record-trace) to use for the second; without it, two
// thirds of the requests repeat one of the last, the nearer the likelier.
package cache
