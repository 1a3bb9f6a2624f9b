package mirror

import (
	"fmt"
	"strings"

	"freshet/weburl"
)

const (
	notes      = ".freshet" // folder of the mirror's own files
	indexName  = "index.html"
	longest    = 200  // bytes of a name
	longestAll = 2000 // bytes of a path
)

// placeOf returns the file of a page, relative to the mirror and with slashes: scheme, host and port, and path. An
// empty last segment becomes index.html; a query follows a "?". The text of a canonical URL is escaped, so no segment
// contains a slash. placeOf refuses the segments "." and "..", which no canonical URL has.
func placeOf(u weburl.URL) (string, error) {
	host := strings.ReplaceAll(strings.TrimPrefix(string(u.Site()), u.Scheme()+"://"), ":", "_")
	segments := append([]string{u.Scheme(), host}, strings.Split(strings.TrimPrefix(u.Path(), "/"), "/")...)
	last := &segments[len(segments)-1]
	if *last == "" {
		*last = indexName
	}
	if query := u.Query(); query != "" {
		*last += "?" + strings.ReplaceAll(query, "/", "%2F")
	}
	for i, segment := range segments {
		switch {
		case segment == "":
			segments[i] = "%" // two slashes in a row: no escaped text is this
		case segment == "." || segment == ".." || strings.ContainsAny(segment, "/\\\x00"):
			return "", fmt.Errorf("mirror: %s: the name %q is refused", u, segment)
		case len(segment) > longest:
			return spare(u), nil
		}
	}
	if path := strings.Join(segments, "/"); len(path) <= longestAll {
		return path, nil
	}
	return spare(u), nil
}

// spare returns the file of a page whose own name is too long, or is that of a folder.
func spare(u weburl.URL) string {
	host := strings.ReplaceAll(strings.TrimPrefix(string(u.Site()), u.Scheme()+"://"), ":", "_")
	return fmt.Sprintf("%s/%s/~%s", u.Scheme(), host, u.Fingerprint())
}
