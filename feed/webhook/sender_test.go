package webhook_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/prometheus/client_golang/prometheus"

	"freshet/clock"
	"freshet/feed"
	"freshet/feed/webhook"
	"freshet/internal/crawled"
)

const hookSecret = "a secret of some length"

// receiver is a webhook's server: it checks signatures and keeps the lines that it takes.
type receiver struct {
	t        *testing.T
	address  *neturl.URL
	arrived  feed.Bell
	refuse   func(attempt int, w http.ResponseWriter, r *http.Request) bool // nil: never
	mu       sync.Mutex
	attempts int
	lines    []feed.Change
}

func newReceiver(t *testing.T, refuse func(int, http.ResponseWriter, *http.Request) bool) *receiver {
	r := &receiver{t: t, refuse: refuse}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.address, _ = neturl.Parse(server.URL + "/hook")
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	mac := hmac.New(sha256.New, []byte(hookSecret))
	fmt.Fprintf(mac, "%s.%s", request.Header.Get("X-Freshet-Timestamp"), body)
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); err != nil || request.Header.Get("X-Freshet-Signature") != want || request.URL.Path != "/hook" {
		r.t.Errorf("%s: signature %q: want %q; %v", request.URL, request.Header.Get("X-Freshet-Signature"), want, err)
	}
	r.mu.Lock()
	r.attempts++
	attempt := r.attempts
	r.mu.Unlock()
	if r.refuse != nil && r.refuse(attempt, w, request) {
		r.arrived.Ring()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for lines := bufio.NewScanner(bytes.NewReader(body)); lines.Scan(); {
		var c feed.Change
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			r.t.Error(err)
		}
		r.lines = append(r.lines, c)
	}
	r.arrived.Ring()
}

// await waits until a condition holds of the attempts and the lines that were taken.
func (r *receiver) await(holds func(attempts int, lines []feed.Change) bool) {
	for {
		news := r.arrived.Wait()
		r.mu.Lock()
		done := holds(r.attempts, r.lines)
		r.mu.Unlock()
		if done {
			return
		}
		<-news
	}
}

// awaitKind waits until the page's last delivered change is of the kind.
func (r *receiver) awaitKind(url, kind string) {
	r.await(func(_ int, lines []feed.Change) bool {
		last := ""
		for _, c := range lines {
			if c.URL == url {
				last = c.Kind
			}
		}
		return last == kind
	})
}

// tell delivers a world's changes to hooks until stop. On its clock an hour takes a third of a second.
func tell(t *testing.T, w *crawled.Web, fs vfs.FS, receivers ...*receiver) (stop func()) {
	t.Helper()
	_, stop = tellBy(t, w, fs, clock.New(time.Unix(1.8e9, 0), 1e4), receivers...)
	return stop
}

// tellBy does so by a clock of the test's.
func tellBy(t *testing.T, w *crawled.Web, fs vfs.FS, by *clock.Clock, receivers ...*receiver) (hooks *webhook.Sender, stop func()) {
	t.Helper()
	return tellInto(t, w, fs, by, slog.DiscardHandler, receivers...)
}

// tellInto does so with a log of the test's.
func tellInto(t *testing.T, w *crawled.Web, fs vfs.FS, by *clock.Clock, log slog.Handler, receivers ...*receiver) (hooks *webhook.Sender, stop func()) {
	t.Helper()
	o := webhook.Options{
		Store: w.Store(), Bell: &w.Bell, Clock: by, Logger: slog.New(log),
		Transport: &http.Transport{}, FS: fs, Dir: "data/webhooks",
	}
	for _, r := range receivers {
		o.Hooks = append(o.Hooks, webhook.Hook{URL: r.address, Secret: []byte(hookSecret)})
	}
	hooks, err := webhook.NewSender(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		hooks.Run(ctx)
	}()
	return hooks, func() {
		cancel()
		<-ended
	}
}

func TestWebhookIsToldOfChanges(t *testing.T) {
	w := crawled.New(t, 2, 3)
	r := newReceiver(t, nil)
	defer tell(t, w, vfs.NewMem(), r)()
	w.Set(crawled.URL(0, 1), "second text")
	w.Visit(crawled.URL(0, 1))
	r.awaitKind(crawled.URL(0, 1), "changed")
	w.Set(crawled.URL(1, 2), "")
	w.Visit(crawled.URL(1, 2))
	w.Visit(crawled.URL(1, 2))
	r.awaitKind(crawled.URL(1, 2), "gone")
	if first := r.lines[0]; len(r.lines) != 2 || first.Version != 2 || len(first.Digest) != 40 || first.Cursor == "" {
		t.Errorf("%+v: want two changes", r.lines)
	}
}

// TestWebhookIsToldAgain refuses requests in every way. No change is lost, and none is accepted twice.
func TestWebhookIsToldAgain(t *testing.T) {
	w := crawled.New(t, 2, 3)
	elsewhere := newReceiver(t, nil)
	r := newReceiver(t, func(attempt int, out http.ResponseWriter, request *http.Request) bool {
		switch attempt % 4 {
		case 1:
			out.WriteHeader(http.StatusInternalServerError)
		case 2:
			panic(http.ErrAbortHandler)
		case 3:
			http.Redirect(out, request, elsewhere.address.String(), http.StatusTemporaryRedirect)
		}
		return attempt%4 != 0
	})
	sender, stop := tellBy(t, w, vfs.NewMem(), clock.New(time.Unix(1.8e9, 0), 1e4), r)
	defer stop()
	for round := range 3 {
		w.Set(crawled.URL(0, 1), fmt.Sprintf("text %d", round))
		w.Visit(crawled.URL(0, 1))
		r.await(func(_ int, lines []feed.Change) bool { return len(lines) == round+1 })
	}
	for i := 0; sender.Standings()[0].Handed != 3; i++ {
		if _ = clock.Real().Sleep(t.Context(), 10*time.Millisecond); i > 1000 {
			t.Fatalf("%+v", sender.Standings())
		}
	}
	if got := sender.Standings()[0]; got.Name != "1, "+r.address.Host || got.Failures != 0 || got.Taken == nil {
		t.Errorf("%+v", got)
	}
	if r.attempts != 12 || elsewhere.attempts != 0 {
		t.Errorf("%d attempts, %d elsewhere: want 12 and none", r.attempts, elsewhere.attempts)
	}
}

// TestWebhookHeedsRetryAfter refuses once with a number of seconds and once with a date, each an hour ahead. The
// sender waits that long. The metrics show it.
func TestWebhookHeedsRetryAfter(t *testing.T) {
	w := crawled.New(t, 1, 3)
	by := clock.New(time.Unix(1.8e9, 0), 1e5)
	var earliest time.Time
	r := newReceiver(t, func(attempt int, out http.ResponseWriter, _ *http.Request) bool {
		now := by.Now()
		if now.Before(earliest) {
			t.Errorf("attempt %d at %v: want none before %v", attempt, now, earliest)
		}
		earliest = now.Add(time.Hour).Truncate(time.Second)
		switch attempt {
		case 1:
			out.Header().Set("Retry-After", "3600")
		case 2:
			out.Header().Set("Retry-After", earliest.UTC().Format(http.TimeFormat))
		default:
			return false
		}
		out.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	hooks, stop := tellBy(t, w, vfs.NewMem(), by, r)
	w.Set(crawled.URL(0, 1), "second text")
	w.Visit(crawled.URL(0, 1))
	r.awaitKind(crawled.URL(0, 1), "changed")
	stop()
	var text strings.Builder
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(webhook.Collector(func() *webhook.Sender { return hooks }))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			fmt.Fprintf(&text, "%s %v %v\n", f.GetName(), len(m.GetLabel()), m.GetCounter().GetValue()+m.GetGauge().GetValue())
		}
	}
	for _, want := range []string{"freshet_webhook_attempts_total 3 2\n", "freshet_webhook_failures 2 "} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s: want %q", text.String(), want)
		}
	}
}

// TestWebhookGoesOn ends the sender, also while the hook refuses everything. The next sender continues at the same
// place.
func TestWebhookGoesOn(t *testing.T) {
	w := crawled.New(t, 1, 4)
	var down sync.Map
	r := newReceiver(t, func(_ int, out http.ResponseWriter, _ *http.Request) bool {
		if _, is := down.Load("down"); is {
			out.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	fs := vfs.NewMem()
	change := func(page int) {
		w.Set(crawled.URL(0, page), "second text")
		w.Visit(crawled.URL(0, page))
	}
	stop := tell(t, w, fs, r)
	change(1)
	r.awaitKind(crawled.URL(0, 1), "changed")
	down.Store("down", true)
	before := r.attempts
	change(2)
	r.await(func(attempts int, _ []feed.Change) bool { return attempts > before })
	stop()
	change(3)
	down.Delete("down")
	stop = tell(t, w, fs, r)
	r.awaitKind(crawled.URL(0, 2), "changed")
	r.awaitKind(crawled.URL(0, 3), "changed")
	stop()
	if n := len(r.lines); n != 3 && n != 4 { // the first again, if its cursor was not kept in time
		t.Errorf("%d lines: %+v", n, r.lines)
	}
}

// TestWebhookThatHangs holds that one that never answers slows no other.
func TestWebhookThatHangs(t *testing.T) {
	w := crawled.New(t, 1, 3)
	hung := newReceiver(t, func(_ int, _ http.ResponseWriter, request *http.Request) bool {
		<-request.Context().Done()
		return true
	})
	r := newReceiver(t, nil)
	defer tell(t, w, vfs.NewMem(), hung, r)()
	for round := range 4 {
		w.Set(crawled.URL(0, 2), fmt.Sprintf("text %d", round))
		w.Visit(crawled.URL(0, 2))
		r.await(func(_ int, lines []feed.Change) bool { return len(lines) == round+1 })
	}
}

// TestWebhookURLIsSecret has a hook refuse, cut connections and hang, with secrets in each part of its URL. The log has
// none of them.
func TestWebhookURLIsSecret(t *testing.T) {
	w := crawled.New(t, 1, 3)
	r := newReceiver(t, func(attempt int, out http.ResponseWriter, _ *http.Request) bool {
		switch attempt {
		case 1:
			out.WriteHeader(http.StatusInternalServerError)
		case 2:
			panic(http.ErrAbortHandler)
		}
		return attempt < 3
	})
	r.address.User, r.address.RawQuery = neturl.UserPassword("secret-1", "secret-2"), "key=secret-3"
	var log bytes.Buffer
	_, stop := tellInto(t, w, vfs.NewMem(), clock.New(time.Unix(1.8e9, 0), 1e4), slog.NewTextHandler(&log, nil), r)
	w.Set(crawled.URL(0, 1), "second text")
	w.Visit(crawled.URL(0, 1))
	r.awaitKind(crawled.URL(0, 1), "changed")
	stop()
	if said := log.String(); strings.Count(said, r.address.Host) < 2 || strings.Contains(said, "secret") || strings.Contains(said, "/hook") {
		t.Errorf("the log says %s", said)
	}
}

// TestWebhookThatPanics makes the work for one hook panic. The other hook still gets all changes.
func TestWebhookThatPanics(t *testing.T) {
	w := crawled.New(t, 1, 3)
	bad, r := newReceiver(t, nil), newReceiver(t, nil)
	name := sha256.Sum256([]byte(bad.address.String()))
	cursor := hex.EncodeToString(name[:8])
	var armed atomic.Bool
	planted := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if armed.Load() && op.Kind == errorfs.OpCreate && strings.Contains(op.Path, cursor) {
			panic("planted")
		}
		return nil
	})
	o := webhook.Options{
		Store: w.Store(), Bell: &w.Bell, Clock: clock.New(time.Unix(1.8e9, 0), 1e4), Logger: slog.New(slog.DiscardHandler),
		Transport: &http.Transport{}, FS: errorfs.Wrap(vfs.NewMem(), planted), Dir: "data/webhooks",
		Hooks: []webhook.Hook{{URL: bad.address, Secret: []byte(hookSecret)}, {URL: r.address, Secret: []byte(hookSecret)}},
	}
	hooks, err := webhook.NewSender(o)
	if err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		hooks.Run(ctx)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	w.Set(crawled.URL(0, 1), "second text")
	w.Visit(crawled.URL(0, 1))
	bad.awaitKind(crawled.URL(0, 1), "changed") // and then its cursor is written
	r.awaitKind(crawled.URL(0, 1), "changed")
	w.Set(crawled.URL(0, 2), "third text")
	w.Visit(crawled.URL(0, 2))
	r.awaitKind(crawled.URL(0, 2), "changed")
}

// TestWebhookThatLacksChanges has cursors that lead nowhere. The hook first hears of that, and then of changes.
func TestWebhookThatLacksChanges(t *testing.T) {
	for name, cursor := range map[string]string{
		"ahead of the log": feed.Cursor{9999, 9999, 9999, 9999}.String(),
		"garbage":          "x!",
		"an empty file":    "",
		"a long file":      strings.Repeat("A", 2<<20),
	} {
		t.Run(name, func(t *testing.T) {
			w := crawled.New(t, 1, 2)
			r := newReceiver(t, nil)
			fs := vfs.NewMem()
			tell(t, w, fs, r)()
			files, err := fs.List("data/webhooks")
			if err != nil || len(files) != 1 {
				t.Fatalf("%v, %v: want one cursor", files, err)
			}
			f, err := fs.Create("data/webhooks/"+files[0], vfs.WriteCategoryUnspecified)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(f, cursor); err != nil {
				t.Fatal(err)
			}
			f.Close()
			defer tell(t, w, fs, r)()
			r.await(func(_ int, lines []feed.Change) bool { return len(lines) == 1 })
			w.Set(crawled.URL(0, 1), "second text")
			w.Visit(crawled.URL(0, 1))
			r.awaitKind(crawled.URL(0, 1), "changed")
			if first := r.lines[0]; first.Kind != feed.KindResynchronise || first.Cursor == "" || first.Error == "" {
				t.Errorf("%+v", first)
			}
		})
	}
}
