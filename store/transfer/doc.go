// Package transfer copies a data directory as a snapshot, copies partitions between directories, and migrates a
// directory from an older format.
package transfer
