package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/feed"
	"freshet/store"
)

// The headers of what a webhook is sent.
const (
	TimestampHeader = "X-Freshet-Timestamp" // unix seconds, of the attempt
	SignatureHeader = "X-Freshet-Signature" // what Sign returns
)

const (
	linesAtOnce = 256              // of a request, and held in memory, for a hook
	answerTime  = 30 * time.Second // of the machine's, for an answer
	gathering   = time.Second      // in which changes gather, once there is one
	longestAsk  = 24 * time.Hour   // that an answer may ask for
)

// Sign returns "sha256=" and the HMAC-SHA-256 of the timestamp's text, a full stop and the body, in
// hexadecimal. A receiver compares it in constant time, and refuses timestamps that are old.
func Sign(secret []byte, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// A Hook is a URL that is told of changes, and the secret that signs what it is told.
type Hook struct {
	URL    *url.URL
	Secret []byte
}

// Options are what a Sender needs.
type Options struct {
	Store     *store.Store
	Bell      *feed.Bell // rung when the log has grown
	Clock     *clock.Clock
	Logger    *slog.Logger
	Transport http.RoundTripper // makes the requests; it keeps them from addresses that they are not to reach
	FS        vfs.FS
	Dir       string // of the cursors; made if absent
	Hooks     []Hook
}

// A Sender sends lines of the change feed to URLs, as NDJSON in the body of a POST: up to 256 at once, in
// the log's order. An answer with a code from 200 to 299 takes them; after any other, a redirect too, and
// after none within 30 s, the same lines are sent again: after a second, then twice as long each time, up
// to an hour, of which between half and all is waited, or longer if the answer's Retry-After asks for it, up
// to a day. Where each hook is, is on disk; so a change arrives at least once, also if either side is killed.
// A hook holds one batch in memory and waits for nobody else.
//
// A hook that is new is told of what changes from then on. One that was away for so long that ends of
// pages are forgotten, or whose cursor is lost, gets one line of kind resynchronise with the cursor from
// which it is told on.
type Sender struct {
	o         Options
	receivers []*receiver
}

// NewSender finds out where each hook is; the cursors of new ones are durable when it returns.
func NewSender(o Options) (*Sender, error) {
	if err := o.FS.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	s := &Sender{o: o}
	client := &http.Client{
		Transport: o.Transport, Timeout: answerTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for _, of := range o.Hooks {
		name := sha256.Sum256([]byte(of.URL.String()))
		r := &receiver{
			Hook: of, o: &s.o, client: client, file: o.FS.PathJoin(o.Dir, hex.EncodeToString(name[:8])),
			rng: rand.New(rand.NewPCG(uint64(o.Clock.Now().UnixNano()), uint64(len(s.receivers)))),
		}
		if err := r.open(); err != nil {
			return nil, fmt.Errorf("webhook: %s: %w", of.URL.Redacted(), err)
		}
		s.receivers = append(s.receivers, r)
	}
	return s, nil
}

// Run tells the hooks of changes until ctx ends.
func (s *Sender) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, r := range s.receivers {
		running.Go(func() {
			if err := r.contained(ctx); err != nil {
				s.o.Logger.Error("a webhook is stopped until the next start", "url", r.URL.Redacted(), "error", err)
			}
			r.client.CloseIdleConnections()
		})
	}
	running.Wait()
}
