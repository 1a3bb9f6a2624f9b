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

// Result is what came of a fetch. The fields after Outcome are set as far as the fetch got. The caller owns it, and
// calls Drop when its bytes are no longer needed.
type Result struct {
	URL     weburl.URL
	Started time.Time // clock time at which Fetch was called
	Ended   time.Time // clock time at which it returned
	Outcome Outcome
	Phase   Phase // PhaseDone if Answered, else where it ended
	Err     error // nil if Answered; its text fits a record

	Status int         // 0 unless the header was parsed
	Header http.Header // of the final response; nil unless the header was parsed

	RequestBytes  []byte // as written to the connection, before TLS
	ResponseBytes []byte // as read for this response, after TLS: interim responses, header, framed body
	Interim       int    // bytes at the start of ResponseBytes that are 1xx responses
	HeaderLen     int    // offset in ResponseBytes at which the body begins; 0 if it never did
	BodyLen       int    // length of what Body returns
	Truncated     Truncation

	Address netip.AddrPort // connected to, or tried

	// Machine time: of the look-up, of connecting, of the TLS handshake, from the first written byte of the request
	// to the first byte of the answer, and of all together.
	DNS, Connect, TLS, FirstByte, Total time.Duration

	Reused bool // the request went over a connection that an earlier one had left open
	Kept   bool // the connection is open for the next request to this site
	Stray  bool // bytes followed the end of the response: they were dropped and the connection was closed

	chunked bool            // the body is in chunks
	hold    *memory.Holding // its part of the memory budget; nil for none
	room    *room           // of the pool, if the bytes are in it; else nil
	pool    *sync.Pool
}

// Pieces yields the body without its transfer coding, still in its content coding (see Decode): one piece a chunk.
// The pieces share memory with ResponseBytes. After Drop there are none. O(BodyLen).
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
// ResponseBytes, or is a copy if the body was chunked. After Drop it is nil. O(BodyLen).
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

// Decode returns at most limit bytes of the body without its codings, like the function Decode. It calls room
// before it takes more memory. Data that shares memory with ResponseBytes takes none. Other data is in *scratch,
// which grows as needed.
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

// Drop frees the bytes of the exchange and their part of the Fetcher's memory budget. Header, RequestBytes and
// ResponseBytes are nil afterwards. Other fetches reuse the memory, so the caller must not read anything that it
// did not copy. If results are never dropped, the budget runs out and the Fetcher reads no more long bodies. Drop
// is not safe for concurrent use.
func (r *Result) Drop() {
	r.Header, r.RequestBytes, r.ResponseBytes = nil, nil, nil
	r.hold.Release()
	r.hold = nil
	if r.room != nil {
		r.pool.Put(r.room)
		r.room = nil
	}
}

// Unheard reports whether the server closed a reused connection before any byte of an answer. It most likely never
// got the request, and a new connection will probably work.
func (r *Result) Unheard() bool {
	return r.Reused && r.Outcome == Disconnected && r.Phase == PhaseRequest
}

// Class returns a label for metrics from a small set: "1xx" to "5xx" or "other" for an answer, the word of the
// Outcome otherwise.
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

// Redirect returns the target of a response with status 301, 302, 303, 307 or 308, and whether the redirect is
// permanent (301, 308). ok is false for other responses, and if Location is missing or not an http or https URL.
// This package never follows a redirect.
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

// maxLocation is how many bytes of a Location are read. Browsers do not accept longer URLs either.
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
