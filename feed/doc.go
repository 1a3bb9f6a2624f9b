// Package feed serves the changes that a crawl has stored since a client last asked.
//
// The change log of the store is the single source. A client only has to remember a Cursor, which is a position in
// each partition, or a Place while it reads from the beginning. A Reader reads the log from a cursor on. A Span is
// the part between two cursors. A Bell wakes readers that wait for more. Changes serves the log over HTTP: lines of
// JSON or Server-Sent Events that say which page became what.
//
// The log remembers ends of pages for a limited time. A cursor older than that is refused with ErrBehind, and its
// client must resynchronise.
//
// The packages below deliver the same log in other ways: feed/webhook sends its lines to URLs, feed/resourcesync
// serves it as sitemaps, feed/broadcast brings the pages themselves, and feed/mirror is the other end of that. The
// formats are in docs/format/feed.md. Start reading at reader.go, then changes.go.
package feed
