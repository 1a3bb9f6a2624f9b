// Package resourcesync serves the change feed as ResourceSync does (ANSI/NISO Z39.99-2017): as sitemaps that say what
// is stored, and what has become of it.
//
// A Source serves the lists. Both are read from spans of the change log (freshet/feed), which holds the last entry of
// every page: a resource list has the pages that are live, a change list all entries. A list that is too long is an
// index, whose parts are spans too. Start reading at source.go, then index.go.
package resourcesync
