package fetch

import "net/http"

// Decode undoes the content codings that header names, of a body of which the beginning is enough.
func Decode(header http.Header, body []byte, limit int64) (data []byte, truncated bool, err error) {
	return body, false, nil
}

// RobotsTag reads the X-Robots-Tag fields of a response that concern agent.
func RobotsTag(header http.Header, agent string) Directives { return Directives{} }
