// Package warc writes and reads web archive files: WARC 1.1 records, one gzip member a record, and their CDXJ
// index. It knows nothing about crawls and stores.
//
// A [Record] is a header and a block. An [Encoder] turns a record into a gzip member. Each worker has an encoder,
// so that workers compress while one goroutine owns the files. That goroutine has a [Writer]. It appends members to
// the open file of a directory, returns where each is ([Pointer]), syncs on request, and starts a new file when one
// is full. The open file is called NAME.warc.gz.open. It loses the suffix when it is complete. After a crash,
// [Recover] cuts the torn tails of open files and removes the suffix. A pointer names the file without the suffix,
// so it stays valid.
//
// [ReadAt] reads a record by its pointer, [ReadMember] its compressed bytes. A [Reader] reads a whole file. Files
// of other programs may be uncompressed or one gzip member throughout. [Index] makes a sorted CDXJ of any number of
// files in bounded memory.
//
// Choices, and why (more in docs/format/warc.md):
//
//   - A record's ID is a name-based UUID of its type, date, target and block ([Record.Seal]): the
//     same capture encoded twice is the same record, which lets a test replay a crawl byte for byte.
//   - Dates have milliseconds, which 1.1 allows and its readers understand.
//   - Records carry no WARC-Warcinfo-ID: they are compressed before it is known which file they will
//     be in. The warcinfo record at the head of a file holds for all that follow it.
//   - Digests are SHA-1 in base32, as every other archive's are, so that equal payloads can be found
//     across archives.
//
// All file access goes through a [vfs.FS].
package warc
