package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// errMalformed is wrapped by every fault of a server's framing.
var errMalformed = errors.New("malformed response")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errMalformed, fmt.Sprintf(format, args...))
}

// head is the parsed header of a response.
type head struct {
	status int
	minor  int // of the HTTP version
	header http.Header
}

// parseHead reads a status line and a header with its final blank line. It accepts what browsers accept: bare line
// feeds, lines without a colon or with an invalid name (left out), folded lines (joined by a space). The strings
// share block's memory.
func parseHead(block string) (head, error) {
	line, rest := cutLine(block)
	h, err := parseStatus(line)
	if err != nil {
		return head{}, err
	}
	lines := strings.Count(rest, "\n")
	h.header = make(http.Header, lines)
	single := make([]string, 0, lines) // backs the lists of fields with one value, as most have
	last := ""                         // the field that a folded line continues
	for rest != "" {
		line, rest = cutLine(rest)
		if line != "" && (line[0] == ' ' || line[0] == '\t') {
			if values := h.header[last]; len(values) > 0 {
				values[len(values)-1] += " " + strings.Trim(line, " \t")
			}
			continue
		}
		last = ""
		name, value, found := strings.Cut(line, ":")
		name = strings.TrimRight(name, " \t")
		if !found || !httpguts.ValidHeaderFieldName(name) {
			continue
		}
		last = http.CanonicalHeaderKey(name)
		value = strings.Trim(value, " \t")
		if values, repeated := h.header[last]; repeated {
			h.header[last] = append(values, value)
		} else {
			single = append(single, value)
			h.header[last] = single[len(single)-1 : len(single) : len(single)]
		}
	}
	return h, nil
}

// cutLine splits text after its first line and removes the line's end.
func cutLine(text string) (line, rest string) {
	line, rest, _ = strings.Cut(text, "\n")
	return strings.TrimSuffix(line, "\r"), rest
}

// parseStatus reads "HTTP/1.1 200 OK".
func parseStatus(line string) (head, error) {
	version, rest, _ := strings.Cut(line, " ")
	minor, ok := strings.CutPrefix(version, "HTTP/1.")
	if !ok || len(minor) != 1 || minor[0] < '0' || minor[0] > '9' {
		return head{}, malformed("status line %.40q", line)
	}
	code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	status, err := strconv.Atoi(code)
	if err != nil || len(code) != 3 || status < 100 {
		return head{}, malformed("status line %.40q", line)
	}
	return head{status: status, minor: int(minor[0] - '0')}, nil
}

// persistent reports whether the server leaves the connection open after this response (RFC 9112 section
// 9.3).
func (h *head) persistent() bool {
	connection := h.header["Connection"]
	if httpguts.HeaderValuesContainsToken(connection, "close") || h.status == http.StatusSwitchingProtocols {
		return false
	}
	return h.minor >= 1 || httpguts.HeaderValuesContainsToken(connection, "keep-alive")
}

// framing is how the end of a body is found.
type framing struct {
	kind   framingKind
	length int64 // of byLength
	sole   bool  // no other field contradicts it, so the next response can be expected to follow
}

type framingKind uint8

const (
	byLength  framingKind = iota // after length bytes, which may be 0
	byChunks                     // after the last chunk
	byClosing                    // when the server closes
)

// framing returns how the body's end is found (RFC 9112 section 6.3). It returns errMalformed for Content-Length
// fields that disagree or are not numbers, and for transfer codings other than chunked.
func (h *head) framing() (framing, error) {
	if h.status < 200 || h.status == http.StatusNoContent || h.status == http.StatusNotModified {
		return framing{kind: byLength, sole: true}, nil
	}
	length, err := contentLength(h.header["Content-Length"])
	if codings := h.header["Transfer-Encoding"]; len(codings) > 0 {
		coding := strings.ToLower(strings.Join(codings, ","))
		switch coding {
		case "chunked":
			return framing{kind: byChunks, sole: len(h.header["Content-Length"]) == 0 && h.minor >= 1}, nil
		case "identity":
		default:
			return framing{}, malformed("transfer coding %.40q", coding)
		}
	}
	switch {
	case err != nil:
		return framing{}, err
	case length < 0:
		return framing{kind: byClosing}, nil
	}
	return framing{kind: byLength, length: length, sole: true}, nil
}

// contentLength returns the value that all Content-Length fields share, −1 if there is no such field.
func contentLength(fields []string) (int64, error) {
	length := int64(-1)
	for _, value := range fields {
		for text := range strings.SplitSeq(value, ",") {
			text = strings.Trim(text, " \t")
			n, err := strconv.ParseUint(text, 10, 63)
			if err != nil {
				return 0, malformed("content length %.40q", value)
			}
			if length >= 0 && int64(n) != length {
				return 0, malformed("content lengths %d and %d", length, n)
			}
			length = int64(n)
		}
	}
	return length, nil
}
