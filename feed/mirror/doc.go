// Package mirror keeps a folder equal to the pages of a feed (freshet/feed/broadcast). It is the client that
// `freshet subscribe` runs, and any Go program can.
//
// A Client connects to one of several addresses, says what it has, and takes what comes: each page is
// verified against its digest, written beside its place and renamed into it, or dropped. The folder looks
// like the web, and its own notes lie in DIR/.freshet:
//
//	DIR/http/site.test/index.html       http://site.test/
//	DIR/https/site.test_8443/a/b.html   https://site.test:8443/a/b.html
//	DIR/.freshet/pages.jsonl            what is in the mirror: URL, file, digest, …; the last line of a URL counts
//	DIR/.freshet/cursor.json            up to where the mirror is whole
//
// No name that a server sends can leave the folder: URLs have to be canonical, their paths make names
// segment by segment, and all files are opened through an os.Root, which follows no link outwards.
// Whatever cuts the client or the connection off, the next run goes on: from the cursor, or, if the first
// copy was not whole yet, by what the mirror has.
//
// Start reading at client.go, then folder.go.
package mirror
