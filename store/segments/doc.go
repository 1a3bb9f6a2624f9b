// Package segments keeps the closed WARC files of a data directory, its segments, in an object store.
//
// Segments is a file system over that of the directory. In the folder of captures it shows the files that have been
// moved beside those that are there. So whoever reads, lists or removes WARC files need not know where they are. A file
// that is closed is uploaded in the background. It stays where it is until the store has shown that it has every byte.
// What is read at random is kept in a cache on disk, bounded in bytes.
//
// Which files were moved is noted in the directory (list.go). So a crawl begins and goes on while the store does not
// answer. A marker object says to which directory the objects belong, and which copy of that directory may change them.
//
// Start reading at segments.go, then publish.go and file.go.
package segments
