package broadcast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"freshet/feed"
)

// maxSubscription bounds a subscription, in bytes.
const maxSubscription = 64 << 20

// Limits for subscriptions whose clients are not admitted yet: bytes of all together, and the time of one.
const (
	maxReading       = 2 * maxSubscription
	subscriptionTime = 2 * time.Minute
)

// repairTime is the time limit for a frame that is requested again.
const repairTime = 5 * time.Minute

// Handler serves the feed over HTTP:
//
//	POST /feed/stream          a Subscription in JSON; the answer is a stream of frames
//	POST /feed/alive?session=  the client is still there
//	GET  /feed/status          Totals
//
// and the routes of the transport. A client that reads nothing for 30 s is dropped. Requests beyond MaxClients are
// refused unread. A subscription must arrive within 2 minutes. All subscriptions that are arriving share 128 MiB.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /feed/stream", s.stream)
	mux.HandleFunc("POST /feed/alive", s.alive)
	mux.HandleFunc("GET /feed/status", s.status)
	routes := http.NewServeMux()
	s.o.Transport.Routes(routes)
	mux.HandleFunc("GET /feed/", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(s.o.Clock.Deadline(repairTime))
		routes.ServeHTTP(w, r)
	})
	return mux
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	defer s.streams.Add(-1)
	if s.streams.Add(1) > int64(s.o.MaxClients) {
		feed.Refuse(w, http.StatusServiceUnavailable, errFull)
		return
	}
	session, code, err := s.subscribe(w, r)
	switch {
	case errors.Is(err, errFull), errors.Is(err, errStopped):
		code = http.StatusServiceUnavailable
		fallthrough
	case err != nil:
		feed.Refuse(w, code, err)
		return
	}
	defer func() { _ = s.do(context.WithoutCancel(r.Context()), func() { s.leave(session) }) }()
	s.write(w, r, session)
}

// subscribe reads a client's subscription and admits the client. If it refuses, it returns the reason and the code of
// the answer.
func (s *Server) subscribe(w http.ResponseWriter, r *http.Request) (_ *Session, code int, err error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(s.o.Clock.Deadline(subscriptionTime)) // not every connection has one
	body := &metered{Reader: http.MaxBytesReader(w, r.Body, maxSubscription), all: &s.reading}
	defer body.release()
	var ask Subscription
	in := json.NewDecoder(body)
	in.DisallowUnknownFields()
	if err := in.Decode(&ask); err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("broadcast: subscription: %w", err)
	}
	_ = control.SetReadDeadline(time.Time{})
	if err := ask.Validate(); err != nil {
		return nil, http.StatusBadRequest, err
	}
	session, err := s.admit(r, ask)
	return session, feed.CodeOf(err), err
}

// metered counts the bytes of all subscriptions that are being read. If there are too many, it returns errFull.
type metered struct {
	io.Reader
	all  *atomic.Int64
	held int64
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	m.held += int64(n)
	if m.all.Add(int64(n)) > maxReading {
		return n, errFull
	}
	return n, err
}

func (m *metered) release() { m.all.Add(-m.held) }

// admit lets a client in. It does the slow work before it calls the loop.
func (s *Server) admit(r *http.Request, ask Subscription) (session *Session, err error) {
	var asOf feed.Cursor
	if err := s.do(r.Context(), func() { asOf = s.reader.Cursor() }); err != nil {
		return nil, err
	}
	has, err := inventoryOf(s.o.Store, &ask, asOf)
	if err != nil {
		return nil, err
	}
	ask.Have = nil // it is large
	asking := s.do(r.Context(), func() {
		if session, err = s.join(ask, has); session != nil {
			session.address = r.RemoteAddr
		}
	})
	if asking != nil {
		return nil, asking
	}
	return session, err
}

// StreamType is the media type of the stream of a session.
const StreamType = "application/vnd.freshet.feed"

// write sends a session's frames as they come, until either side ends.
func (s *Server) write(w http.ResponseWriter, r *http.Request, session *Session) {
	w.Header().Set("Content-Type", StreamType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	out := feed.NewWriter(w, s.o.Clock)
	for {
		frame, more := session.queue.take()
		switch {
		case !more:
			return
		case frame == nil:
			if out.Flush() != nil {
				return
			}
			select {
			case <-session.queue.ready:
			case <-r.Context().Done():
				return
			}
			continue
		}
		if _, err := out.Write(frame); err != nil {
			return
		}
		if left := session.queue.taken(frame); left <= s.o.QueueBytes/2 && left+len(frame) > s.o.QueueBytes/2 {
			if s.do(r.Context(), func() { s.resume(session) }) != nil {
				return
			}
		}
	}
}

func (s *Server) alive(w http.ResponseWriter, r *http.Request) {
	id, found := r.URL.Query().Get("session"), false
	err := s.do(r.Context(), func() {
		for _, session := range s.sessions {
			if session.id == id {
				session.lease, found = s.o.Clock.Now().Add(s.o.Clock.Span(s.o.Lease)), true
			}
		}
	})
	switch {
	case err != nil:
		feed.Refuse(w, http.StatusServiceUnavailable, err)
	case !found:
		feed.Refuse(w, http.StatusNotFound, fmt.Errorf("broadcast: session %.40q: there is none", id))
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	totals, err := s.Totals(r.Context())
	if err != nil {
		feed.Refuse(w, http.StatusServiceUnavailable, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(totals)
}
