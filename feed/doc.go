// Package feed tells what a crawl has stored since a client last asked.
//
// The change log of the store is the single source, and a Cursor, a position in each of its partitions,
// is all that a client has to remember, or a Place, while it reads from the beginning. A Reader reads the log from a
// cursor on, a Span is the part of it between two, and a Bell wakes those who wait for more. Changes serves the log
// over HTTP: lines of JSON or Server-Sent Events that say which page became what.
//
// A cursor older than what the log remembers of ended pages is refused with ErrBehind: such a client has
// to resynchronise.
//
// The rooms below hand the same log on in other ways: feed/webhook sends its lines to URLs, feed/resourcesync
// serves it as sitemaps, feed/broadcast brings the pages themselves, and feed/mirror is the other end of that. The
// formats are in docs/format/feed.md. Start reading at reader.go, then changes.go.
package feed
