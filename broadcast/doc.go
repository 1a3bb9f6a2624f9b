// Package broadcast hands on what a crawl stores.
//
// The change log of the store is the single source, and a Cursor, a position in each of its partitions,
// is all that a client has to remember. A Reader reads the log from a cursor on; Changes is the change
// feed over HTTP, lines of JSON or Server-Sent Events that say which page became what.
//
// The formats are in docs/format/feed.md. Start reading at reader.go, then changes.go.
package broadcast
