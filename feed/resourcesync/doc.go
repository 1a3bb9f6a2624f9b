// Package resourcesync serves the stored pages and their changes as ResourceSync (ANSI/NISO Z39.99-2017): as
// sitemaps.
//
// A Source serves two lists. It reads both from spans of the change log (freshet/feed), which holds the last entry of
// every page. A resource list has the live pages, a change list all entries. A list that is too long becomes an
// index; its parts are spans too. Start reading at source.go, then index.go.
package resourcesync
