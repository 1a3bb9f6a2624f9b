package dashboard

import (
	"context"
	"io"
	"net/http"
	"time"

	"freshet/clock"
)

const (
	maxShows   = 4               // stored bodies that are being shown at once
	showTime   = 5 * time.Minute // to send one
	showBuffer = 32 << 10
	sniffed    = 512 // bytes that decide the type of a body without one
)

// shows limits how many stored bodies are shown at once, because each is in memory. Further requests wait.
type shows chan struct{}

// begin takes a place and bounds the time to send. It returns an error if the client leaves before there is one.
func (s shows) begin(w http.ResponseWriter, r *http.Request) (end func(), err error) {
	leave, err := s.take(r.Context())
	if err != nil {
		return nil, err
	}
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(clock.Real().Deadline(showTime))
	return func() {
		_ = control.SetWriteDeadline(time.Time{})
		leave()
	}, nil
}

// take takes a place.
func (s shows) take(ctx context.Context) (leave func(), err error) {
	select {
	case s <- struct{}{}:
		return func() { <-s }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// sendBody sends a body as it is decoded. If decoding fails in the middle, it breaks the answer off, so that nobody
// takes it for the whole.
func sendBody(w http.ResponseWriter, body io.Reader) {
	if _, err := io.Copy(w, body); err != nil {
		panic(http.ErrAbortHandler)
	}
}
