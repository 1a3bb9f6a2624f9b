// Package warc writes and reads web archive files: WARC 1.1 records, one gzip member a record, and
// their CDXJ index. It knows nothing of crawls or stores: records, bytes and files only.
//
// A [Record] is a header and a block. An [Encoder] turns one into a gzip member; each worker has
// its own, so that workers compress while one goroutine owns the files. That one has a
// [Writer]: it appends members to the open file of a directory, says where each lies ([Pointer]),
// syncs when told, and starts a new file when one is full. The file being written is called
// NAME.warc.gz.open; it loses the suffix when it is whole. [Recover] ends the files that a crash
// left open: it cuts a torn tail and takes the suffix away. A pointer names the file without its
// suffix and stays valid throughout.
//
// Reading goes by pointer ([ReadAt] for a record, [ReadMember] for its compressed bytes) or through a
// whole file ([Reader]), which may also be another program's: uncompressed, or one gzip member
// throughout. [Index] makes a sorted CDXJ of any number of files in bounded memory.
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
