// Package segments keeps the closed WARC files of a data directory, its segments, in an object store.
//
// Segments is a file system over that of the directory. In the folder of captures it shows the moved files together
// with the local ones. So code that reads, lists or removes WARC files need not know where they are. A closed file
// is uploaded in the background. The local file stays until the store has proved that it has every byte. Random
// reads go through a cache on disk, bounded in bytes.
//
// The directory lists the moved files (list.go). So a crawl starts and continues while the store does not answer. A
// marker object says which directory the objects belong to, and which copy of that directory may change them.
//
// Start reading at segments.go, then publish.go and file.go.
package segments
