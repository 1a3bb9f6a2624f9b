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

// The headers of a request to a webhook.
const (
	TimestampHeader = "X-Freshet-Timestamp" // unix seconds, of the attempt
	SignatureHeader = "X-Freshet-Signature" // the result of Sign
)

const (
	linesAtOnce = 256              // of a request, and held in memory, for a hook
	answerTime  = 30 * time.Second // for an answer, in machine time
	gathering   = time.Second      // how long changes gather after the first
	longestAsk  = 24 * time.Hour   // longest Retry-After
)

// Sign returns "sha256=" and the HMAC-SHA-256 of the timestamp's text, a full stop and the body, in
// hexadecimal. A receiver compares it in constant time, and refuses timestamps that are old.
func Sign(secret []byte, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// A Hook is a URL that receives changes, and the secret that signs them.
type Hook struct {
	URL    *url.URL
	Secret []byte
}

// Options configures a Sender.
type Options struct {
	Store     *store.Store
	Bell      *feed.Bell // rung when the log has grown
	Clock     *clock.Clock
	Logger    *slog.Logger
	Transport http.RoundTripper // makes the requests; it must refuse forbidden addresses
	FS        vfs.FS
	Dir       string // of the cursors; made if absent
	Hooks     []Hook
}

// A Sender sends lines of the change feed to URLs, as NDJSON in the body of a POST: up to 256 at once, in the log's
// order. A hook accepts them with a code from 200 to 299. After any other code, redirects included, or no answer
// within 30 s, the Sender sends the same lines again. It waits a second first, then twice as long each time, up to an
// hour; up to half of the wait is taken off at random. A Retry-After of up to a day makes the wait longer. The
// position of each hook is on disk. So a change arrives at least once, even if either side is killed. A hook holds
// one batch in memory and does not wait for other hooks.
//
// Logs and metrics name a hook by its place in Options.Hooks, from 1, and its host: the rest of its URL may be a
// secret.
//
// A new hook gets the changes from its first start on. If a hook was away for so long that ends of pages are
// forgotten, or if its cursor is lost, it gets a line of kind resynchronise with the cursor from which it continues.
type Sender struct {
	o         Options
	receivers []*receiver
}

// NewSender reads the position of each hook. The cursors of new hooks are durable when it returns.
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
			Hook: of, number: len(s.receivers) + 1, o: &s.o, client: client, file: o.FS.PathJoin(o.Dir, hex.EncodeToString(name[:8])),
			rng: rand.New(rand.NewPCG(uint64(o.Clock.Now().UnixNano()), uint64(len(s.receivers)))),
		}
		if err := r.open(); err != nil {
			return nil, fmt.Errorf("webhook %d, of %s: %w", r.number, of.URL.Host, err)
		}
		s.receivers = append(s.receivers, r)
	}
	return s, nil
}

// Standings returns what each hook has taken, by its place in Options.Hooks and its host.
func (s *Sender) Standings() (all []feed.Standing) {
	for _, r := range s.receivers {
		state := feed.Standing{Name: fmt.Sprintf("%d, %s", r.number, r.URL.Host), Handed: r.lines.Load(), Failures: r.failures.Load()}
		if reached := r.reached.Load(); reached != nil {
			state.Taken = *reached
		}
		all = append(all, state)
	}
	return all
}

// Run sends changes to the hooks until ctx ends.
func (s *Sender) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, r := range s.receivers {
		running.Go(func() {
			if err := r.contained(ctx, true); err != nil {
				s.o.Logger.Error("a webhook is stopped until the next start", "hook", r.number, "host", r.URL.Host, "error", err)
			}
			r.client.CloseIdleConnections()
		})
	}
	running.Wait()
}

// CatchUp sends the hooks, after Run, what they have not taken yet, until there is no more or ctx ends.
func (s *Sender) CatchUp(ctx context.Context) {
	var running sync.WaitGroup
	for _, r := range s.receivers {
		running.Go(func() {
			err := r.open()
			if err == nil {
				err = r.contained(ctx, false)
			}
			if err != nil {
				s.o.Logger.Warn("a webhook has not received everything: the next run continues", "hook", r.number, "host", r.URL.Host, "error", err)
			}
			r.client.CloseIdleConnections()
		})
	}
	running.Wait()
}
