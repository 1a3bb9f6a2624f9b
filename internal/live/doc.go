// Package live tests the engine's refresh loop against a changing web whose true changes are known: sim's web,
// served in memory, in simulated time (testing/synctest). A month takes seconds. The tests compare the believed
// freshness with the true one.
package live
