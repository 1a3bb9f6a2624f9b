// Package transfer takes a data directory elsewhere: as a snapshot, partition by partition into another directory, and
// from an older format to this program's.
package transfer
