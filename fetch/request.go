package fetch

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// field is a line of a request's header.
type field struct{ name, value string }

// hidden replaces a secret in the kept request.
const hidden = "[hidden]"

// isSecret reports whether a field's value is a credential.
func isSecret(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Authorization", "Proxy-Authorization", "Cookie":
		return true
	}
	return false
}

// requestBytes returns the request as sent and as kept. They differ only in the values of secret fields. The fields
// are in a fixed order: Host, the Fetcher's own, req.Header's by name, Connection.
func (f *Fetcher) requestBytes(req *Request) (sent, kept []byte) {
	sent = f.appendRequest(make([]byte, 0, 512), req, false)
	for name := range req.Header {
		if isSecret(name) {
			return sent, f.appendRequest(make([]byte, 0, 512), req, true)
		}
	}
	return sent, sent
}

func (f *Fetcher) appendRequest(out []byte, req *Request, hide bool) []byte {
	_, host, _ := strings.Cut(string(req.URL.Site()), "://")
	connection := "close"
	if req.KeepAlive {
		connection = "keep-alive"
	}
	out = append(out, "GET "...)
	out = append(out, req.URL.RequestURI()...)
	out = append(out, " HTTP/1.1\r\n"...)
	out = appendField(out, "Host", host)
	for _, own := range [...]field{
		{"User-Agent", f.opt.UserAgent},
		{"Accept", f.opt.Accept},
		{"Accept-Encoding", "gzip, br, zstd"},
		{"If-None-Match", req.ETag},
		{"If-Modified-Since", req.LastModified},
	} {
		if _, replaced := req.Header[own.name]; !replaced && own.value != "" {
			out = appendField(out, own.name, own.value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		if !settable(name) {
			continue
		}
		for _, value := range req.Header[name] {
			if hide && isSecret(name) {
				value = hidden
			}
			out = appendField(out, name, value)
		}
	}
	out = appendField(out, "Connection", connection)
	return append(out, "\r\n"...)
}

// settable reports whether a caller may set a field.
func settable(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Connection", "Keep-Alive", "Proxy-Connection", "Upgrade", "Te", "Trailer",
		"Content-Length", "Transfer-Encoding", "Expect":
		return false
	}
	return httpguts.ValidHeaderFieldName(name)
}

// appendField appends one line, or nothing if the value is not valid in a header.
func appendField(out []byte, name, value string) []byte {
	if !httpguts.ValidHeaderFieldValue(value) {
		return out
	}
	out = append(out, name...)
	out = append(out, ": "...)
	out = append(out, value...)
	return append(out, "\r\n"...)
}
