package broadcast

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
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
	hookTime    = 30 * time.Second // of the machine's, for an answer
	hookPause   = time.Second      // in which changes gather, once there is one
	firstRetry  = time.Second
	longestWait = time.Hour      // between attempts
	longestAsk  = 24 * time.Hour // that an answer may ask for
)

// Sign returns "sha256=" and the HMAC-SHA-256 of the timestamp's text, a full stop and the body, in
// hexadecimal. A receiver compares it in constant time, and refuses timestamps that are old.
func Sign(secret []byte, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// A Webhook is a URL that is told of changes, and the secret that signs what it is told.
type Webhook struct {
	URL    *url.URL
	Secret []byte
}

// WebhookOptions are what Webhooks needs.
type WebhookOptions struct {
	Store     *store.Store
	Bell      *feed.Bell // rung when the log has grown
	Clock     *clock.Clock
	Logger    *slog.Logger
	Transport http.RoundTripper // makes the requests; it keeps them from addresses that they are not to reach
	FS        vfs.FS
	Dir       string // of the cursors; made if absent
	Hooks     []Webhook
}

// Webhooks sends lines of the change feed to URLs, as NDJSON in the body of a POST: up to 256 at once, in
// the log's order. An answer with a code from 200 to 299 takes them; after any other, a redirect too, and
// after none within 30 s, the same lines are sent again: after a second, then twice as long each time, up
// to an hour, of which between half and all is waited, or longer if the answer's Retry-After asks for it, up
// to a day. Where each hook is, is on disk; so a change arrives at least once, also if either side is killed.
// A hook holds one batch in memory and waits for nobody else.
//
// A hook that is new is told of what changes from then on. One that was away for so long that ends of
// pages are forgotten, or whose cursor is lost, gets one line of kind resynchronise with the cursor from
// which it is told on.
type Webhooks struct {
	o     WebhookOptions
	hooks []*hook
}

// NewWebhooks finds out where each hook is; the cursors of new ones are durable when it returns.
func NewWebhooks(o WebhookOptions) (*Webhooks, error) {
	if err := o.FS.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("broadcast: webhooks: %w", err)
	}
	w := &Webhooks{o: o}
	client := &http.Client{
		Transport: o.Transport, Timeout: hookTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for _, of := range o.Hooks {
		name := sha256.Sum256([]byte(of.URL.String()))
		h := &hook{
			Webhook: of, o: &w.o, client: client, file: o.FS.PathJoin(o.Dir, hex.EncodeToString(name[:8])),
			rng: rand.New(rand.NewPCG(uint64(o.Clock.Now().UnixNano()), uint64(len(w.hooks)))),
		}
		if err := h.open(); err != nil {
			return nil, fmt.Errorf("broadcast: webhook %s: %w", of.URL.Redacted(), err)
		}
		w.hooks = append(w.hooks, h)
	}
	return w, nil
}

// Run tells the hooks of changes until ctx ends.
func (w *Webhooks) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, h := range w.hooks {
		running.Go(func() {
			if err := h.contained(ctx); err != nil {
				w.o.Logger.Error("a webhook is told nothing more until the next start", "url", h.URL.Redacted(), "error", err)
			}
			h.client.CloseIdleConnections()
		})
	}
	running.Wait()
}

// hook is a webhook that is being told.
type hook struct {
	Webhook
	o      *WebhookOptions
	client *http.Client
	file   string // of the cursor
	rng    *rand.Rand
	reader *feed.Reader
	lost   error // why the hook cannot go on from where it was

	taken, refused, lines atomic.Int64 // attempts, and what was taken
	failures              atomic.Int64 // attempts refused since the last that was taken
	oldest                atomic.Int64 // unix nanoseconds of the first change that is being told; 0: none is
}

// open brings the reader to the hook's cursor.
func (h *hook) open() (err error) {
	since, err := readCursor(h.o.FS, h.file)
	if err != nil {
		return err
	}
	h.reader, err = feed.NewReader(h.o.Store, since, "")
	if errors.Is(err, feed.ErrBehind) || errors.Is(err, feed.ErrCursor) {
		return h.lose(err)
	}
	if err == nil && since == "" {
		err = h.keep()
	}
	return err
}

// lose has the hook told that it lacks changes, and of all that come from now on.
func (h *hook) lose(why error) (err error) {
	h.lost = why
	h.reader, err = feed.NewReader(h.o.Store, "", "")
	return err
}

// keep makes durable how far the hook has been told.
func (h *hook) keep() error { return writeCursor(h.o.FS, h.file, h.reader.Cursor().String()) }

// contained is run. A panic is its error, with the stack: it costs this hook only.
func (h *hook) contained(ctx context.Context) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("broadcast: webhook: crash: %v\n%s", cause, debug.Stack())
		}
	}()
	return h.run(ctx)
}

// run tells the hook until ctx ends. Its error is the directory's.
func (h *hook) run(ctx context.Context) error {
	for {
		news := h.o.Bell.Wait()
		body, err := h.next()
		switch {
		case err != nil:
			return err
		case len(body) > 0:
			if h.deliver(ctx, body) != nil {
				return nil
			}
			h.oldest.Store(0)
			if err := h.keep(); err != nil {
				return err
			}
			continue
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
		if h.o.Clock.Sleep(ctx, hookPause) != nil {
			return nil
		}
	}
}

// next returns the next lines, none if there are none yet.
func (h *hook) next() (body []byte, err error) {
	var entries []feed.Entry
	since := h.reader.Cursor()
	if h.lost == nil {
		entries, err = h.reader.Next(linesAtOnce)
	}
	if errors.Is(err, feed.ErrBehind) {
		err = h.lose(err)
	}
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	if h.lost != nil {
		err = lines.Encode(feed.Change{Kind: feed.KindResynchronise, Cursor: h.reader.Cursor().String(), Error: h.lost.Error()})
		h.lost = nil
		return out.Bytes(), err
	}
	if len(entries) > 0 {
		h.oldest.Store(entries[0].At)
	}
	for c := range feed.Lines(h.o.Store, since, entries) {
		if err := lines.Encode(c); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// deliver sends lines until they are taken; its error is ctx's.
func (h *hook) deliver(ctx context.Context, body []byte) error {
	for failures := 0; ; failures++ {
		asked, err := h.post(ctx, body)
		if err == nil {
			h.taken.Add(1)
			h.lines.Add(int64(bytes.Count(body, []byte("\n"))))
			h.failures.Store(0)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		h.refused.Add(1)
		h.failures.Add(1)
		wait := max(backoff(failures, h.rng), min(asked, longestAsk))
		h.o.Logger.Warn("a webhook has not taken what it was sent", "url", h.URL.Redacted(), "error", err, "again_in", wait)
		if err := h.o.Clock.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// backoff returns how long to wait when an attempt has failed after so many that did before.
func backoff(failures int, rng *rand.Rand) time.Duration {
	longest := min(firstRetry<<min(failures, 12), longestWait)
	return longest/2 + time.Duration(rng.Int64N(int64(longest/2)+1))
}

// post makes one attempt. asked is how long the answer to one that failed asks to wait, 0 if it does not.
func (h *hook) post(ctx context.Context, body []byte) (asked time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL.String(), bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	timestamp := strconv.FormatInt(h.o.Clock.Now().Unix(), 10)
	request.Header.Set("Content-Type", "application/x-ndjson")
	request.Header.Set("User-Agent", "freshet")
	request.Header.Set(TimestampHeader, timestamp)
	request.Header.Set(SignatureHeader, Sign(h.Secret, timestamp, body))
	response, err := h.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10) // a short answer leaves the connection fit for the next
	if response.StatusCode/100 != 2 {
		asked, _ = clock.RetryAfter(response.Header.Get("Retry-After"), h.o.Clock.Now())
		return asked, fmt.Errorf("broadcast: webhook: answered %s: want a code from 200 to 299", response.Status)
	}
	return 0, nil
}
