// Package sites serves real web sites on loopback addresses, for tests that judge the crawler from outside.
//
// The sites are the HTML manuals of fourteen Debian packages, made by fourteen kinds of documentation generators. They
// have from 200 to 32,000 pages, with every kind of markup that generators and people produce, and with broken links.
// Install downloads and unpacks them without installing anything on the machine. Serve serves each on an address of its
// own.
//
// The server is simple on purpose: an independent walk over the files (internal/oracle) has to predict each of its
// answers. These are all its rules:
//
//   - The path of a request, percent-decoded once, names a file below the root. The query is ignored: /a?x answers as
//     /a does.
//   - A path that ends in a slash names index.html in that directory.
//   - A directory without the slash gets 301 to the same path with a slash.
//   - Symbolic links are followed if they are relative and stay below the root.
//   - A path with an invalid percent escape gets 400 from net/http itself; the log does not see it.
//   - Anything else that is not a regular file gets 404. /robots.txt always does.
//   - The content type depends only on the extension, by the table contentTypes.
//   - Every answer has ETag and Last-Modified. A matching If-None-Match, or without one a matching If-Modified-Since,
//     gets 304. A forgetful server does neither.
//
// All servers of a test write to one Log, which notes when each request began and ended on the wire. It notes the
// beginning after the client's first byte has arrived, and the end before the last byte leaves. So what it calls a
// violation of politeness is one, even if the machine runs the server late. The request of a client that is killed ends
// when its connection closes. The log is in the process of the test, so it covers any number of crawler processes.
package sites
