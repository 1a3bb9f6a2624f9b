// Package retain deletes what a data directory no longer keeps. Sweep deletes old versions, captures and changes.
// FinishPurges deletes all content of pages and sites that were taken down.
//
// A record deletes a row. The bytes of a capture are deleted with its WARC file: the captures that stay are copied
// into a new file, the rows are pointed to the copies, and the old file is deleted. Start reading at sweep.go, then
// rewrite.go.
package retain
