// Package index keeps a full-text index of the last version of every page, and searches it.
//
// An Index is a consumer of the change log (freshet/feed). It reads the log from its own mark on. It indexes the
// texts of new and changed pages (package text/stored), and removes pages that have ended. The mark is part of the
// index: one batch writes both. So a crash leaves a whole, older index. If the index is damaged, has another format,
// or is too old for the log, it is rebuilt from the log, which has an entry for every page.
//
// An Index never delays a commit. It reads the log later, in batches bounded in bytes.
//
// A search reads each page that it finds from the store. It leaves out a page that is gone, withdrawn, purged, or
// asks not to be indexed, even before the index has read that change.
//
// Start reading at index.go, then search.go.
package index
