// Package retain says how much of the past a data directory keeps, and takes off the disk what it does not: Sweep lets
// go of old versions, captures and changes, FinishPurges of all that a page or site has said that was taken down.
//
// A row goes by a record. The bytes of a capture go with its WARC file: what is left of the file is copied into a new
// one, the rows are pointed at the copies, and the file is deleted. Start reading at sweep.go, then rewrite.go.
package retain
