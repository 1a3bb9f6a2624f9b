package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Message is the HTTP message in the block of a response or revisit record.
type Message struct {
	Status int         // of the status line; 0 if that has none
	Header http.Header // canonical names; values trimmed, in order
	Body   []byte      // as on the wire; shares the block's memory
}

// ParseResponse splits the block of a response or revisit record into header and body. It accepts what servers
// send: line ends without CR, lines without a colon (left out), continued lines, no body. It requires a status line
// that begins with "HTTP/"; without one the error is ErrCorrupt. A header that ends with the block counts as
// complete. Interim responses (100, 103) before the final one are skipped.
func ParseResponse(block []byte) (*Message, error) {
	m, err := parseMessage(block)
	for err == nil && m.interim() {
		m, err = parseMessage(m.Body)
	}
	return m, err
}

func (m *Message) interim() bool {
	return m.Status/100 == 1 && m.Status != http.StatusSwitchingProtocols && bytes.HasPrefix(m.Body, []byte("HTTP/"))
}

func parseMessage(block []byte) (*Message, error) {
	line, rest := cutLine(block)
	if !bytes.HasPrefix(line, []byte("HTTP/")) {
		return nil, fmt.Errorf("%w: HTTP message starts with %.40q", ErrCorrupt, line)
	}
	m := &Message{Header: http.Header{}}
	if f := bytes.SplitN(line, []byte(" "), 3); len(f) > 1 {
		m.Status = parseStatus(f[1])
	}
	var name string
	for len(rest) > 0 {
		if line, rest = cutLine(rest); len(line) == 0 {
			break
		}
		if v := m.Header[name]; (line[0] == ' ' || line[0] == '\t') && len(v) > 0 {
			v[len(v)-1] = trim(v[len(v)-1] + " " + trim(string(line)))
			continue
		}
		if key, value, ok := bytes.Cut(line, []byte(":")); ok {
			name = http.CanonicalHeaderKey(trim(string(key)))
			m.Header[name] = append(m.Header[name], trim(string(value)))
		}
	}
	m.Body = rest
	return m, nil
}

// parseStatus reads a status of one to three digits; 0 for anything else.
func parseStatus(s []byte) int {
	n, err := strconv.ParseUint(string(s), 10, 16)
	if err != nil || n > 999 {
		return 0
	}
	return int(n)
}

func cutLine(b []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(b, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), rest
}

// Payload returns the entity body, which payload digests are of: Body without its transfer coding, still
// content-encoded. It is Body itself unless the coding is chunked. Some archives store decoded bodies with the
// original header, so a chunked body that does not begin with the size of a chunk is returned as it is. If the
// chunks end early or are invalid, Payload returns what came before and an ErrCorrupt; for an early end it matches
// io.ErrUnexpectedEOF. The result is never longer than Body. O(len(Body)).
func (m *Message) Payload() ([]byte, error) {
	coding := m.Header.Values("Transfer-Encoding")
	if len(coding) == 0 || !strings.EqualFold(lastElement(coding), "chunked") {
		return m.Body, nil
	}
	if _, _, err := chunkSize(m.Body); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return m.Body, nil
	}
	var payload []byte
	for rest := m.Body; ; {
		chunk, after, err := cutChunk(rest)
		payload = append(payload, chunk...)
		if err != nil || len(chunk) == 0 {
			return payload, err
		}
		rest = after
	}
}

func lastElement(values []string) string {
	last := values[len(values)-1]
	return trim(last[strings.LastIndexByte(last, ',')+1:])
}

// cutChunk returns the first chunk of a chunked body, as much of it as there is, and what follows
// it. The last chunk is empty.
func cutChunk(body []byte) (chunk, rest []byte, err error) {
	size, rest, err := chunkSize(body)
	if err != nil || size == 0 {
		return nil, rest, err
	}
	if size > uint64(len(rest)) {
		return rest, nil, fmt.Errorf("%w: chunk of %d bytes: %w", ErrCorrupt, size, io.ErrUnexpectedEOF)
	}
	chunk, rest = rest[:size], rest[size:]
	switch {
	case bytes.HasPrefix(rest, []byte("\r\n")):
		return chunk, rest[2:], nil
	case bytes.HasPrefix(rest, []byte("\n")):
		return chunk, rest[1:], nil
	case len(rest) < 2:
		return chunk, nil, fmt.Errorf("%w: chunk without an end: %w", ErrCorrupt, io.ErrUnexpectedEOF)
	}
	return chunk, nil, fmt.Errorf("%w: chunk followed by %.2q", ErrCorrupt, rest)
}

// chunkSize reads the line before a chunk.
func chunkSize(body []byte) (size uint64, rest []byte, err error) {
	line, rest, whole := bytes.Cut(body, []byte("\n"))
	text, _, _ := bytes.Cut(line[:min(len(line), 1024)], []byte(";"))
	text = bytes.TrimSpace(text)
	if size, err = strconv.ParseUint(string(text), 16, 63); err != nil && (len(text) > 0 || whole) {
		return 0, nil, fmt.Errorf("%w: chunk size %.40q", ErrCorrupt, text)
	}
	if !whole || err != nil {
		return 0, nil, fmt.Errorf("%w: chunked body: %w", ErrCorrupt, io.ErrUnexpectedEOF)
	}
	return size, rest, nil
}
