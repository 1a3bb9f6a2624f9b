package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"freshet/clock"
	"freshet/feed"
)

// receiver is a hook with its position and counts.
type receiver struct {
	Hook
	number int // its place in Options.Hooks, from 1
	o      *Options
	client *http.Client
	file   string // of the cursor
	rng    *rand.Rand
	reader *feed.Reader
	lost   error // why the hook cannot continue from its cursor

	taken, refused, lines atomic.Int64 // attempts, and accepted lines
	failures              atomic.Int64 // failed attempts since the last success
	oldest                atomic.Int64 // unix nanoseconds of the first change that is being sent; 0: none
	reached               atomic.Pointer[feed.Cursor]
}

// open brings the reader to the hook's cursor.
func (r *receiver) open() (err error) {
	since, err := feed.ReadKept(r.o.FS, r.file)
	if err != nil {
		return err
	}
	r.reader, err = feed.NewReader(r.o.Store, since, "")
	if errors.Is(err, feed.ErrBehind) || errors.Is(err, feed.ErrCursor) {
		return r.lose(err)
	}
	if err == nil && since == "" {
		err = r.keep()
	}
	return err
}

// lose makes the next line tell the hook that it lacks changes. After it come the changes from now on.
func (r *receiver) lose(why error) (err error) {
	r.lost = why
	r.reader, err = feed.NewReader(r.o.Store, "", "")
	return err
}

// keep makes the hook's position durable.
func (r *receiver) keep() error { return feed.WriteKept(r.o.FS, r.file, r.reader.Place().String()) }

// contained calls run. It turns a panic into an error with the stack, so a panic stops only this hook.
func (r *receiver) contained(ctx context.Context, on bool) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("webhook: crash: %v\n%s", cause, debug.Stack())
		}
	}()
	return r.run(ctx, on)
}

// run sends changes to the hook until ctx ends, and unless on is set, no longer than there are any. Its error is that
// of the directory, and unless on is set, that of ctx.
func (r *receiver) run(ctx context.Context, on bool) error {
	for {
		news := r.o.Bell.Wait()
		reached := r.reader.Cursor()
		r.reached.Store(&reached)
		body, err := r.next()
		switch {
		case err != nil:
			return err
		case len(body) > 0:
			if err := r.deliver(ctx, body); on && err != nil {
				return nil
			} else if err != nil {
				return err
			}
			r.oldest.Store(0)
			if err := r.keep(); err != nil {
				return err
			}
			continue
		case !on:
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
		if r.o.Clock.Sleep(ctx, gathering) != nil {
			return nil
		}
	}
}

// next returns the next lines, or none if there are none yet.
func (r *receiver) next() (body []byte, err error) {
	var entries []feed.Entry
	since := r.reader.Place()
	if r.lost == nil {
		entries, err = r.reader.Next(linesAtOnce)
	}
	if errors.Is(err, feed.ErrBehind) {
		err = r.lose(err)
	}
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	if r.lost != nil {
		err = lines.Encode(feed.Change{Kind: feed.KindResynchronise, Cursor: r.reader.Place().String(), Error: r.lost.Error()})
		r.lost = nil
		return out.Bytes(), err
	}
	if len(entries) > 0 {
		r.oldest.Store(entries[0].At)
	}
	for c := range feed.Lines(r.o.Store, since, entries) {
		if err := lines.Encode(c); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// deliver sends lines until the hook accepts them. Its error is that of ctx.
func (r *receiver) deliver(ctx context.Context, body []byte) error {
	for failures := 0; ; failures++ {
		asked, err := r.post(ctx, body)
		if err == nil {
			r.taken.Add(1)
			r.lines.Add(int64(bytes.Count(body, []byte("\n"))))
			r.failures.Store(0)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.refused.Add(1)
		r.failures.Add(1)
		wait := max(feed.Backoff(failures, r.rng), min(asked, longestAsk))
		r.o.Logger.Warn("a webhook did not accept a delivery", "hook", r.number, "host", r.URL.Host, "error", err, "again_in", wait)
		if err := r.o.Clock.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// post makes one attempt. asked is the Retry-After of a failed attempt, or 0.
func (r *receiver) post(ctx context.Context, body []byte) (asked time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL.String(), bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	timestamp := strconv.FormatInt(r.o.Clock.Now().Unix(), 10)
	request.Header.Set("Content-Type", "application/x-ndjson")
	request.Header.Set("User-Agent", "freshet")
	request.Header.Set(TimestampHeader, timestamp)
	request.Header.Set(SignatureHeader, Sign(r.Secret, timestamp, body))
	response, err := r.client.Do(request)
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err // without the URL
	}
	if err != nil {
		return 0, fmt.Errorf("webhook: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10) // the connection can be used again if the answer was short
	if response.StatusCode/100 != 2 {
		asked, _ = clock.RetryAfter(response.Header.Get("Retry-After"), r.o.Clock.Now())
		return asked, fmt.Errorf("webhook: answered %s: want a code from 200 to 299", response.Status)
	}
	return 0, nil
}
