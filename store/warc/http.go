package warc

import "net/http"

// Message is the HTTP message in the block of a response or revisit record.
type Message struct {
	Status int         // 0 if the status line has none
	Header http.Header // canonical names
	Body   []byte      // as on the wire; part of the block
}

// ParseResponse splits the block of a response or revisit record.
func ParseResponse(block []byte) (*Message, error) { return nil, nil }

// Payload returns the entity body: the body without its transfer coding, still content-encoded.
func (m *Message) Payload() ([]byte, error) { return nil, nil }
