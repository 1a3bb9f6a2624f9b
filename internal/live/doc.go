// Package live holds tests of the engine's refresh loop against a changing web that knows the truth: sim's
// web, served in memory, in simulated time (testing/synctest). A month takes seconds, and what the crawl
// believes of its copy is held against what is so.
package live
