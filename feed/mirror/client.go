package mirror

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"freshet/clock"
	"freshet/feed"
	"freshet/feed/broadcast"
	"freshet/store/warc"
	"freshet/weburl"
)

// Options configures a Client.
type Options struct {
	Addresses []string // of servers, HOST:PORT or a URL; the next is tried when one fails
	Token     string   // sent as a bearer token; "": none
	Interest  broadcast.Interest
	Dir       string // the mirror
	Once      bool   // end when the mirror holds one whole copy
	// Decode removes the content encoding of a body; nil: the mirror keeps bodies as sent.
	Decode func(header http.Header, body []byte) ([]byte, error)
	// Listen, if set, joins a group, such as 239.255.83.50:8352. If a server sends to a group, the client receives
	// chunks there, and requests what does not arrive. See freshet/feed/broadcast/multicast.
	Listen func(group string) (net.PacketConn, error)
	// Archive, if set, also gets the pages as response records. The caller closes it after Close.
	Archive *warc.Writer
	// OnChange is called for every change after the mirror has it, in the order of the feed, at least once
	// each. An error ends Run.
	OnChange   func(Change) error
	OnStanding func(Standing) // called now and then
	// OnLost is called when a connection to a server fails or ends, with the pause until the next attempt.
	OnLost func(address string, err error, pause time.Duration)
	HTTP   *http.Client // default: one of its own
	Clock  *clock.Clock // default clock.Real()
	Logger *slog.Logger // default: none
}

// Change is a change of a page in the mirror. Kind is new, changed, gone, moved, withdrawn, purged, withheld (the
// repository does not hold the body) or dropped (it does not know the page).
type Change struct {
	Kind    string     `json:"kind"`
	URL     string     `json:"url"`
	File    string     `json:"file,omitempty"` // in the mirror
	Version uint32     `json:"version,omitempty"`
	At      *time.Time `json:"at,omitempty"` // of the capture
	Status  int        `json:"status,omitempty"`
	Digest  string     `json:"digest,omitempty"` // SHA-1 of the body as the site sent it, hexadecimal
	MovedTo string     `json:"moved_to,omitempty"`
	Bytes   int64      `json:"size_bytes,omitempty"` // of that body
}

// Standing is how complete and fresh a mirror is. All but Pages comes from the server.
type Standing struct {
	Pages     int     // in the mirror
	Freshness float64 // part of the pages that are current
	AgeS      float64 // mean age, in seconds
	Chunks    int     // still to come
}

// A Client keeps a mirror. Make one with New, call Run once, then Close.
type Client struct {
	o      Options
	folder *folder
	cursor string // up to which the mirror is complete; "": it is not
	deaf   bool   // groups were tried, and no datagram came

	encoder *warc.Encoder
}

// ErrRefused matches the errors of servers that refuse permanently.
var ErrRefused = errors.New("mirror: refused")

// errEnd means that a downloader has its whole copy.
var errEnd = errors.New("mirror: done")

// New opens the mirror. It drops pages outside of the interest.
func New(o Options) (*Client, error) {
	if len(o.Addresses) == 0 {
		return nil, errors.New("mirror: no address of a server")
	}
	if err := o.Interest.Validate(); err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableCompression: true, ResponseHeaderTimeout: time.Minute}}
	}
	if o.OnChange == nil {
		o.OnChange = func(Change) error { return nil }
	}
	if o.OnStanding == nil {
		o.OnStanding = func(Standing) {}
	}
	if o.OnLost == nil {
		o.OnLost = func(string, error, time.Duration) {}
	}
	f, err := openFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	return &Client{o: o, folder: f, cursor: f.cursor(o.Interest), encoder: warc.NewEncoder(warc.FastLevel)}, nil
}

// Close frees the resources of New.
func (c *Client) Close() error {
	c.o.HTTP.CloseIdleConnections()
	return c.folder.close()
}

const (
	firstPause = 100 * time.Millisecond // before the next attempt, doubled each time
	lastPause  = 30 * time.Second
	silence    = 2 * time.Minute // of a server, after which the client connects again
	triesOnce  = 8               // failures in a row before a download gives up
)

// Run keeps the mirror until ctx ends, which is no error, or, with Once, until it is complete. If a connection fails
// it makes another. Errors are ErrRefused, those of the mirror's disk and those of OnChange.
func (c *Client) Run(ctx context.Context) error {
	if err := c.dropUnwanted(); err != nil {
		return err
	}
	failures := 0
	for turn := 0; ; turn++ {
		address := c.o.Addresses[turn%len(c.o.Addresses)]
		got, err := c.connect(ctx, address)
		lasting := &lastingError{}
		switch {
		case ctx.Err() != nil || errors.Is(err, errEnd):
			return nil
		case errors.As(err, &lasting):
			return lasting.err
		case errors.Is(err, feed.ErrBehind):
			c.o.Logger.Warn("the mirror's cursor is too old: it sends the digests of its pages instead")
			c.cursor = ""
		}
		if failures++; got {
			failures = 0
		}
		if c.o.Once && failures >= triesOnce {
			return err
		}
		pause := min(lastPause, firstPause<<min(failures, 10))
		c.o.OnLost(address, err, pause)
		if c.o.Clock.Sleep(ctx, pause) != nil {
			return nil
		}
	}
}

// lastingError is an error that another attempt does not repair.
type lastingError struct{ err error }

func (e *lastingError) Error() string { return e.err.Error() }

func lasting(err error) error {
	if err == nil {
		return nil
	}
	return &lastingError{err}
}

// dropUnwanted removes the pages of an earlier interest.
func (c *Client) dropUnwanted() error {
	if c.cursor != "" {
		return nil
	}
	for _, text := range slices.Sorted(maps.Keys(c.folder.pages)) {
		u, err := weburl.Parse(text)
		if err == nil && c.o.Interest.Wants(u) {
			continue
		}
		if _, err := c.folder.drop(text); err != nil {
			return err
		}
	}
	return nil
}

// connect subscribes at an address and applies the messages. got reports whether any came.
func (c *Client) connect(ctx context.Context, address string) (got bool, err error) {
	var alive sync.WaitGroup
	defer alive.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ask := broadcast.Subscription{Interest: c.o.Interest, Download: c.o.Once, Cursor: c.cursor}
	if c.cursor == "" {
		ask.Have = make(map[string]string, len(c.folder.pages))
		for _, held := range c.folder.pages {
			ask.Have[held.URL] = held.Digest
		}
	}
	group := c.join(ctx, address)
	defer group.leave()
	ask.Multicast = group != nil
	body, err := json.Marshal(ask)
	if err != nil {
		return false, lasting(err)
	}
	response, err := c.ask(ctx, http.MethodPost, address, "/feed/stream", body, nil)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if err := refusal(response); err != nil {
		return false, err
	}
	watch := c.o.Clock.NewTimer(silence)
	defer watch.Stop()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-watch.C:
			cancel()
		case <-stop:
		}
	}()
	in := &watched{response.Body, func() { c.o.Clock.Reset(watch, silence) }}
	for {
		m, err := broadcast.ReadFrame(in)
		if err != nil {
			return got, err
		}
		got = true
		if m.Hello != nil {
			alive.Go(func() { c.stayAlive(ctx, address, m.Hello) })
			if group != nil {
				group.receiver.Trust(m.Hello.Key)
			}
		}
		if m.Sent != nil {
			if m, err = c.fetch(ctx, address, group, m.Sent); err != nil {
				return got, err
			}
		}
		if err := c.take(m); err != nil {
			return got, err
		}
	}
}

// watched calls seen whenever bytes have arrived.
type watched struct {
	io.Reader
	seen func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.seen()
	}
	return n, err
}

// stayAlive renews the lease until ctx ends.
func (c *Client) stayAlive(ctx context.Context, address string, hello *broadcast.Hello) {
	every := max(time.Duration(hello.LeaseMs)*time.Millisecond/4, time.Second/10)
	for c.o.Clock.Sleep(ctx, every) == nil {
		if response, err := c.ask(ctx, http.MethodPost, address, "/feed/alive?session="+url.QueryEscape(hello.Session), []byte("{}"), nil); err == nil {
			response.Body.Close()
		}
	}
}

func (c *Client) ask(ctx context.Context, method, address, path string, body []byte, header http.Header) (*http.Response, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(address, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, lasting(fmt.Errorf("mirror: address %q: %w", address, err))
	}
	maps.Copy(request.Header, header)
	request.Header.Set("Content-Type", "application/json")
	if c.o.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.o.Token)
	}
	response, err := c.o.HTTP.Do(request)
	if fault, ok := errors.AsType[*url.Error](err); ok {
		err = fault.Err // the caller adds the address
	}
	return response, err
}

// refusal returns the error of a response that is not a stream: the server refuses, or is not that of a feed.
func refusal(response *http.Response) error {
	switch kind := response.Header.Get("Content-Type"); {
	case response.StatusCode == http.StatusOK && kind == broadcast.StreamType:
		return nil
	case response.StatusCode == http.StatusOK:
		return lasting(fmt.Errorf("%w: it answers with %q, and not with a feed", ErrRefused, kind))
	}
	var fault struct{ Error string }
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil || json.Unmarshal(text, &fault) != nil || fault.Error == "" {
		fault.Error = response.Status
	}
	switch code := response.StatusCode; {
	case code == http.StatusGone:
		return fmt.Errorf("%w: %s", feed.ErrBehind, fault.Error)
	case code == http.StatusNotImplemented || code >= 400 && code < 500 && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout:
		return lasting(fmt.Errorf("%w: %s", ErrRefused, fault.Error))
	}
	return errors.New(fault.Error)
}

// take applies a message. It checks a whole chunk before it uses any of its pages.
func (c *Client) take(m *broadcast.Message) error {
	if m.Chunk != nil {
		urls := make([]weburl.URL, len(m.Chunk.Pages))
		for i := range m.Chunk.Pages {
			page := &m.Chunk.Pages[i]
			u, err := weburl.Parse(page.URL)
			if err != nil || u.String() != page.URL {
				return fmt.Errorf("%w: %.200q is not a canonical URL", broadcast.ErrFrame, page.URL)
			}
			if _, err := placeOf(u); err != nil {
				return fmt.Errorf("%w: %w", broadcast.ErrFrame, err)
			}
			if err := page.Verify(); err != nil {
				return err
			}
			urls[i] = u
		}
		if err := c.archive(urls, m.Chunk.Pages); err != nil {
			return lasting(err)
		}
		for i := range m.Chunk.Pages {
			if err := c.page(urls[i], &m.Chunk.Pages[i]); err != nil {
				return lasting(err)
			}
		}
	}
	for _, text := range m.Drop {
		if err := c.drop(Change{Kind: "dropped", URL: text}); err != nil {
			return lasting(err)
		}
	}
	if m.Standing != nil {
		c.o.OnStanding(Standing{len(c.folder.pages), m.Standing.Freshness, m.Standing.AgeS, m.Standing.Chunks})
	}
	if m.Cursor != "" {
		if err := c.folder.reached(m.Cursor, c.o.Interest); err != nil {
			return lasting(err)
		}
		c.cursor = m.Cursor
	}
	if m.End {
		return errEnd
	}
	return nil
}

// page puts a page into the mirror, or removes it. It skips a page that the mirror already has, and one outside of
// the interest: a chunk carries everything that any of its receivers lacks.
func (c *Client) page(u weburl.URL, page *broadcast.Page) error {
	if !c.o.Interest.Wants(u) {
		return nil
	}
	at := time.Unix(0, page.At).UTC()
	change := Change{Kind: page.Kind, URL: page.URL, Version: page.Version, At: &at, Status: page.Status, MovedTo: page.MovedTo}
	if page.Kind != "" {
		return c.drop(change)
	}
	change.Digest = fmt.Sprintf("%x", page.Digest[:])
	old, had := c.folder.pages[page.URL]
	if had && old.Digest == change.Digest {
		return nil
	}
	held, err := c.folder.put(u, page.Version, change.Digest, c.decode(page))
	if err != nil {
		return err
	}
	change.File, change.Kind, change.Bytes = held.File, "new", int64(len(page.Body))
	if had {
		change.Kind = "changed"
	}
	return c.o.OnChange(change)
}

// decode returns the decoded body, or the body as sent if it cannot be decoded.
func (c *Client) decode(page *broadcast.Page) []byte {
	if c.o.Decode == nil {
		return page.Body
	}
	header := http.Header{}
	for _, field := range page.Header {
		header.Add(field.Name, field.Value)
	}
	content, err := c.o.Decode(header, page.Body)
	if err != nil {
		c.o.Logger.Warn("a body is kept as it was sent", "url", page.URL, "error", err)
		return page.Body
	}
	return content
}

func (c *Client) drop(change Change) error {
	had, err := c.folder.drop(change.URL)
	if err != nil || !had {
		return err
	}
	return c.o.OnChange(change)
}
