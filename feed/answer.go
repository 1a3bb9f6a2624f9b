package feed

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"freshet/clock"
)

const (
	stall       = 30 * time.Second // time limit of a write; then the client is dropped
	writeAtOnce = 64 << 10         // bytes that are written under one time limit
)

// A Writer writes an answer to a client. If the client reads nothing for 30 s, Write returns an error and the client
// is dropped. Not for concurrent use.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	clock   *clock.Clock
}

// NewWriter returns a Writer to the client of w.
func NewWriter(w http.ResponseWriter, c *clock.Clock) *Writer {
	return &Writer{w, http.NewResponseController(w), c}
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (written int, err error) {
	for len(p) > 0 {
		_ = w.control.SetWriteDeadline(w.clock.Deadline(stall)) // not every connection has one
		n, err := w.w.Write(p[:min(len(p), writeAtOnce)])
		if written += n; err != nil {
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}

// Flush sends what is written, if the connection knows how to.
func (w *Writer) Flush() error {
	err := w.control.Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// Refuse refuses a request, with a code and the reason as JSON. The code 410 makes the client resynchronise.
func Refuse(w http.ResponseWriter, code int, reason error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": reason.Error(), "resynchronise": code == http.StatusGone})
}

// CodeOf returns the HTTP status for an error of a cursor: 400 for ErrCursor, 410 for ErrBehind, 503 for ErrNotYet, 421
// for ErrPartial, 500 for any other.
func CodeOf(err error) int {
	switch {
	case errors.Is(err, ErrCursor):
		return http.StatusBadRequest
	case errors.Is(err, ErrBehind):
		return http.StatusGone
	case errors.Is(err, ErrNotYet):
		return http.StatusServiceUnavailable
	case errors.Is(err, ErrPartial):
		return http.StatusMisdirectedRequest
	}
	return http.StatusInternalServerError
}
