package fetch

import (
	"fmt"
	"iter"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"freshet/clock"
	"freshet/memory"
	"freshet/weburl"
)

// Result is all that a fetch showed. Fields past Outcome are set as far as the fetch came. It is the
// caller's to read and keep; call Drop when its bytes are no longer needed.
type Result struct {
	URL     weburl.URL
	Started time.Time // clock time at which Fetch was called
	Ended   time.Time // clock time at which it returned
	Outcome Outcome
	Phase   Phase // PhaseDone when Answered, else where it ended
	Err     error // nil when Answered; its text fits a record

	Status int         // 0 unless the header was understood
	Header http.Header // of the final response; nil unless the header was understood

	RequestBytes  []byte // as written to the connection, before TLS
	ResponseBytes []byte // as read for this response, after TLS: interim responses, header, framed body
	Interim       int    // bytes at the start of ResponseBytes that are 1xx responses
	HeaderLen     int    // offset in ResponseBytes at which the body begins; 0 when it never did
	BodyLen       int    // of what Body returns
	Truncated     Truncation

	Address netip.AddrPort // connected to, or tried

	// Machine time: looking up the name, connecting, the TLS handshake, from the first written byte of
	// the request to the first byte of the answer, and all together.
	DNS, Connect, TLS, FirstByte, Total time.Duration

	Reused bool // the request went over a connection that an earlier one had left open
	Kept   bool // the connection is open for the next request to this site
	Stray  bool // bytes came after the end of the response; they were dropped and the connection closed

	chunked bool            // the body lies in chunks
	hold    *memory.Holding // of the memory budget; nil for none
	room    *room           // the pool's, in which the bytes lie; nil if they do not
	pool    *sync.Pool
}

// Pieces yields the body without its transfer coding, still in its content coding (see Decode), in as many pieces
// as that coding had it. They share memory with ResponseBytes. After Drop there are none. O(BodyLen).
func (r *Result) Pieces() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for r := r.reader(); len(r.piece) > 0 || r.next(); r.piece = nil {
			if !yield(r.piece) {
				return
			}
		}
	}
}

// reader returns a reader of the body without its transfer coding.
func (r *Result) reader() *pieceReader {
	switch {
	case r.BodyLen == 0 || r.ResponseBytes == nil:
		return &pieceReader{}
	case r.chunked:
		return &pieceReader{framed: r.ResponseBytes[r.HeaderLen:], left: r.BodyLen}
	}
	return &pieceReader{piece: r.ResponseBytes[r.HeaderLen:]}
}

// Body returns the body without its transfer coding, still in its content coding. It shares memory with
// ResponseBytes, or is a copy if that has it in chunks. After Drop it is nil. O(BodyLen).
func (r *Result) Body() []byte {
	var body []byte
	for piece := range r.Pieces() {
		if len(piece) == r.BodyLen {
			return piece
		}
		body = append(slices.Grow(body, r.BodyLen-len(body)), piece...)
	}
	return body
}

// Decode returns at most limit bytes of the body without its codings, as the function Decode does. It asks room
// before it takes memory, for so many bytes more in all. What shares memory with ResponseBytes takes none; what does
// not lies in *scratch, which grows if need be.
func (r *Result) Decode(limit int64, scratch *[]byte, room Room) (data []byte, truncated bool, err error) {
	codings, err := contentCodings(r.Header)
	if err != nil {
		return nil, false, err
	}
	if len(codings) == 0 && !r.chunked || r.BodyLen == 0 {
		return cut(r.Body(), limit)
	}
	return decode(codings, r.reader(), r.BodyLen, limit, scratch, room)
}

// Drop gives up the bytes of the exchange and their share of the Fetcher's memory budget: Header, RequestBytes and
// ResponseBytes are nil after it. Their memory is for other fetches then: what was not copied must not be looked at
// any more. A Fetcher whose results are never dropped reads no long bodies in the end. It is not safe for concurrent
// use.
func (r *Result) Drop() {
	r.Header, r.RequestBytes, r.ResponseBytes = nil, nil, nil
	r.hold.Release()
	r.hold = nil
	if r.room != nil {
		r.pool.Put(r.room)
		r.room = nil
	}
}

// Unheard reports whether the request went over a reused connection that the server closed before any byte
// of an answer: most likely it never got the request, and a second one over a new connection fares better.
func (r *Result) Unheard() bool {
	return r.Reused && r.Outcome == Disconnected && r.Phase == PhaseRequest
}

// Class returns a label for metrics out of a small set: "1xx" to "5xx" or "other" for an answer,
// Outcome's word for the rest.
func (r *Result) Class() string {
	if r.Outcome != Answered {
		return r.Outcome.String()
	}
	switch r.Status / 100 {
	case 1:
		return "1xx"
	case 2:
		return "2xx"
	case 3:
		return "3xx"
	case 4:
		return "4xx"
	case 5:
		return "5xx"
	}
	return "other"
}

// Redirect returns where a response with status 301, 302, 303, 307 or 308 points and whether it says
// so permanently (301, 308). ok is false for every other response and where Location is missing or is no
// http or https URL. A redirect is never followed here.
func (r *Result) Redirect() (target weburl.URL, permanent, ok bool) {
	switch r.Status {
	case http.StatusMovedPermanently, http.StatusPermanentRedirect:
		permanent = true
	case http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect:
	default:
		return weburl.URL{}, false, false
	}
	location := r.Header.Get("Location")
	if location == "" || len(location) > maxLocation {
		return weburl.URL{}, false, false
	}
	target, err := r.URL.Parse(location)
	if err != nil {
		return weburl.URL{}, false, false
	}
	return target, permanent, true
}

// maxLocation is how many bytes of a Location are read; browsers take no URLs of that length either.
const maxLocation = 8 << 10

// RetryAfter returns how long after now the server asks to be left alone; see clock.RetryAfter.
func (r *Result) RetryAfter(now time.Time) (wait time.Duration, ok bool) {
	return clock.RetryAfter(r.Header.Get("Retry-After"), now)
}

// fail ends the fetch with an outcome that is not Answered.
func (r *Result) fail(outcome Outcome, phase Phase, err error) {
	r.Outcome, r.Phase = outcome, phase
	r.Err = fmt.Errorf("fetch: %s: %s: %w", phase, outcome, err)
}
