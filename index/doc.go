// Package index keeps a full-text index of the last version of every page, and searches it.
//
// An Index is a consumer of the change log (freshet/feed). It reads the log from its own mark on, takes the text of
// what is new or changed from package text/stored, and removes what has ended. Its mark is part of the index: both are
// written in one step, so that a crash at any moment leaves an index that is older and whole. An index that is damaged,
// of another format, or too old for the log is thrown away and rebuilt from the log, which has an entry for every
// page.
//
// It never delays a commit: it reads the log later, in batches bounded in bytes.
//
// A search asks the store about each page that it has found. A page that is gone, withdrawn, purged, or does not
// want to be indexed is left out at once, even before the index has read the change.
//
// Start reading at index.go, then search.go.
package index
