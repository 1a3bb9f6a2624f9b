// Package cache measures Freshet's cache policies beside other caches for Go, on one trace: what a hit
// costs, and what a request costs and misses. It is all benchmarks:
//
//	go test -C bench ./cache -run '^$' -bench . -benchtime 20000000x
//
// FRESHET_TRACE names a recorded trace (crawl --record-trace) for the second measurement. Without it, two thirds of
// the requests repeat a recent one, and more recent ones more often.
package cache
