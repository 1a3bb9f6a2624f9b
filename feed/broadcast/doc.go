// Package broadcast brings the pages of a crawl to its clients.
//
// A Server reads the change log (freshet/feed). It knows which pages each client wants and lacks. A scheduler
// (freshet/feed/broadcast/scheduler) chooses the chunk that is worth most to send next. The server reads the current
// versions of the pages that the receivers may lack. A Transport carries the chunk to all of them: over HTTP, or by
// multicast (freshet/feed/broadcast/multicast).
//
// A client that cannot follow is passed over. What it lacks waits in the store, not in memory, and comes later in the
// version that is then current. So no client slows another, and none needs more memory than a queue of frames. A
// client whose cursor is too old sends a list of what it has instead, and the server tells it what to drop.
//
// Package feed/mirror is the other end: it keeps a folder equal to the repository. The formats are in
// docs/format/feed.md. Start reading at server.go, then catalog.go.
package broadcast
