package fetch

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"freshet/clock"
	"freshet/weburl"
)

// Result is all that a fetch showed. Fields past Outcome are set as far as the fetch came. It is the
// caller's to read and keep; call Release when its bytes are no longer needed.
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

	chunked bool   // the body lies in chunks
	release func() // gives back the body's share of the memory budget; nil once done
	room    *room  // the pool's, in which the bytes lie; nil if they do not
	pool    *sync.Pool
}

// Body returns the body without its transfer coding, still in its content coding (see Decode). It shares
// memory with ResponseBytes or, if that has it in chunks, is put together in *scratch, which grows if need be;
// without scratch, in memory of its own. After Drop it is nil. O(BodyLen).
func (r *Result) Body(scratch *[]byte) []byte {
	switch {
	case r.BodyLen == 0 || r.ResponseBytes == nil:
		return nil
	case !r.chunked:
		return r.ResponseBytes[r.HeaderLen:]
	case scratch == nil:
		scratch = new([]byte)
	}
	*scratch = unchunk((*scratch)[:0], r.ResponseBytes[r.HeaderLen:], r.BodyLen)
	return *scratch
}

// Release gives the body's share of the Fetcher's memory budget back. The bytes stay readable; a
// Fetcher whose results are never released in the end reads no long bodies. Calling it again does
// nothing. It is not safe for concurrent use.
func (r *Result) Release() {
	if r.release != nil {
		r.release()
		r.release = nil
	}
}

// Drop gives up the bytes of the exchange: RequestBytes and ResponseBytes are nil after it. Their memory is for
// other fetches then: what was not copied must not be looked at any more. A result need not be dropped. It is not
// safe for concurrent use.
func (r *Result) Drop() {
	r.RequestBytes, r.ResponseBytes = nil, nil
	if r.room != nil {
		r.pool.Put(r.room)
		r.room = nil
	}
}

// Unheard tells whether the request went over a reused connection that the server closed before any byte
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
// so for good (301, 308). ok is false for every other response and where Location is missing or is no
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
	if location == "" {
		return weburl.URL{}, false, false
	}
	target, err := r.URL.Parse(location)
	if err != nil {
		return weburl.URL{}, false, false
	}
	return target, permanent, true
}

// RetryAfter returns how long after now the server asks to be left alone; see clock.RetryAfter.
func (r *Result) RetryAfter(now time.Time) (wait time.Duration, ok bool) {
	return clock.RetryAfter(r.Header.Get("Retry-After"), now)
}

// fail ends the fetch with an outcome that is not Answered.
func (r *Result) fail(outcome Outcome, phase Phase, err error) {
	r.Outcome, r.Phase = outcome, phase
	r.Err = fmt.Errorf("fetch: %s: %s: %w", phase, outcome, err)
}
