// Package sites puts real web sites on loopback addresses, for tests that judge the crawler from
// outside.
//
// The sites are the HTML manuals of fourteen Debian packages: written by fourteen kinds of
// documentation generator, from 200 to 32,000 pages, with every sort of markup that generators and
// people produce, broken links included. Install fetches and unpacks them without installing
// anything on the machine; Serve shows each on an address of its own.
//
// The server is plain on purpose, because an independent walk over the files (internal/oracle)
// has to predict every one of its answers. Its whole meaning:
//
//   - the path of the request, percent-decoded once, names a file below the root; the query is
//     ignored, so that /a?x answers as /a does;
//   - a path that ends in a slash names index.html in that directory;
//   - a directory asked for without its slash is answered 301 to the same path with a slash;
//   - symbolic links are followed as long as they are relative and stay below the root;
//   - a path with a percent sign that escapes nothing is answered 400, by net/http itself and unseen by
//     the log;
//   - whatever else is not a regular file is answered 404, /robots.txt always is;
//   - the content type comes from the extension, by the table of contentTypes, and from nothing else;
//   - every answer carries ETag and Last-Modified, and a matching If-None-Match (or, without one,
//     If-Modified-Since) is answered 304; a forgetful server does neither.
//
// All servers of a test write to one Log. It notes when each request began and ended as seen on the
// wire, in such a way that whatever it calls a violation of politeness was one, however late the
// machine was in running the server: the beginning is noted after the client's first byte arrived,
// the end before the last byte left. A client that is killed ends its request when its connection
// closes. The log lives in the test's process and so covers any number of crawler processes.
package sites
