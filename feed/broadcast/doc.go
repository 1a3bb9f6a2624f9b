// Package broadcast hands on what a crawl stores.
//
// The change log of the store is the single source, and a Cursor, a position in each of its partitions,
// is all that a client has to remember. Four things read it:
//
//   - Changes, the plain change feed: lines of JSON or Server-Sent Events that say which page became what.
//   - Webhooks, which sends these lines to URLs, signed, until they are taken.
//   - ResourceSync, the same as sitemaps: lists of what is stored, and of what has become of it.
//   - Server, the feed itself: it brings the pages. It knows who wants which and what each lacks, lets a
//     scheduler (freshet/feed/broadcast/scheduler) choose the chunk that is worth most to send next, reads the
//     current versions of what its receivers may lack, and gives it to a Transport, which carries it to
//     all of them: over HTTP, or by multicast (freshet/feed/broadcast/multicast).
//
// A client that cannot follow is passed over: what it lacks waits in the store, not in memory, and comes
// in the version of then. So no client slows another, and none needs more memory than a queue of frames.
// A cursor older than what the log remembers of ended pages is refused with ErrBehind: such a client
// says what it has instead, and is told what to drop.
//
// Package feed/mirror is the other end: it keeps a folder equal to the repository. The formats are in
// docs/format/feed.md. Start reading at reader.go, then server.go.
package broadcast
