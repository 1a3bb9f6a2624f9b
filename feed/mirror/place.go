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

// placeOf returns the file that a page belongs in, relative to the mirror and with slashes: its scheme, its
// host and port, and its path, in which an empty last segment becomes index.html and ? a query's mark. The
// text of a canonical URL is escaped, so that no segment holds a slash; one that is a dot or two, which no
// canonical URL has, is refused.
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

// spare returns the file of a page whose own is too long, or stands where a folder has to be.
func spare(u weburl.URL) string {
	host := strings.ReplaceAll(strings.TrimPrefix(string(u.Site()), u.Scheme()+"://"), ":", "_")
	return fmt.Sprintf("%s/%s/~%s", u.Scheme(), host, u.Fingerprint())
}
