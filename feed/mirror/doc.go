// Package mirror keeps a folder equal to the pages of a feed (freshet/feed/broadcast). It is the client that
// `freshet subscribe` runs, and any Go program can.
//
// A Client connects to one of several addresses, says what it has, and receives pages. It compares each page with its
// digest, writes it to a temporary file and renames that, or drops the page. The folder has the structure of the web.
// The client's own files are in DIR/.freshet:
//
//	DIR/http/site.test/index.html       http://site.test/
//	DIR/https/site.test_8443/a/b.html   https://site.test:8443/a/b.html
//	DIR/.freshet/pages.jsonl            the pages of the mirror: URL, file, digest, …; the last line of a URL counts
//	DIR/.freshet/cursor.json            the cursor up to which the mirror is complete
//
// No name from a server can lead out of the folder. URLs must be canonical, each path segment makes one name, and all
// files are opened through an os.Root, which follows no link outwards. After any interruption the next run continues
// from the cursor. If the first copy was not complete yet, it sends the list of its pages.
//
// Start reading at client.go, then folder.go.
package mirror
