// Package broadcast brings the pages of a crawl to its clients.
//
// A Server reads the change log (freshet/feed). It knows who wants which pages and what each lacks, lets a scheduler
// (freshet/feed/broadcast/scheduler) choose the chunk that is worth most to send next, reads the current versions of
// what its receivers may lack, and gives it to a Transport, which carries it to all of them: over HTTP, or by
// multicast (freshet/feed/broadcast/multicast).
//
// A client that cannot follow is passed over: what it lacks waits in the store, not in memory, and comes
// in the version of then. So no client slows another, and none needs more memory than a queue of frames.
// A client whose cursor is too old says what it has instead, and is told what to drop.
//
// Package feed/mirror is the other end: it keeps a folder equal to the repository. The formats are in
// docs/format/feed.md. Start reading at server.go, then catalog.go.
package broadcast
