package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/feed/webhook"
	"freshet/fetch"
	"freshet/store"
)

// hookURLs is the repeatable flag of the URLs of webhooks.
type hookURLs []*url.URL

// Set adds a URL.
func (h *hookURLs) Set(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.Fragment != "" {
		return fmt.Errorf("%q: want a URL such as https://example.org/hook", text)
	}
	for _, other := range *h {
		if other.String() == u.String() {
			return fmt.Errorf("%q is there twice", text)
		}
	}
	*h = append(*h, u)
	return nil
}

// String returns the URLs.
func (h *hookURLs) String() string { return strings.Join(h.GetSlice(), " ") }

// Type names the flag's kind in help texts.
func (*hookURLs) Type() string { return "URL" }

// GetSlice returns the URLs.
func (h *hookURLs) GetSlice() []string {
	texts := make([]string, 0, len(*h))
	for _, u := range *h {
		texts = append(texts, u.String())
	}
	return texts
}

// Append adds a URL.
func (h *hookURLs) Append(text string) error { return h.Set(text) }

// Replace forgets all URLs and adds these.
func (h *hookURLs) Replace(texts []string) error {
	*h = nil
	for _, text := range texts {
		if err := h.Set(text); err != nil {
			return err
		}
	}
	return nil
}

// webhooks returns the webhooks with their secrets, which the file has a line each.
func (s *feedSettings) webhooks() (hooks []webhook.Hook, err error) {
	if len(s.hooks) == 0 {
		return nil, nil
	}
	if s.secretFile == "" {
		return nil, errors.New("--webhook wants --webhook-secret-file too: who is told checks by it who tells")
	}
	text, err := os.ReadFile(s.secretFile)
	if err != nil {
		return nil, fmt.Errorf("--webhook-secret-file: %w", err)
	}
	secrets := strings.Split(strings.TrimRight(string(text), "\r\n"), "\n")
	if len(secrets) != len(s.hooks) {
		return nil, fmt.Errorf("--webhook-secret-file %s: %d lines for %d webhooks: want one each, in their order", s.secretFile, len(secrets), len(s.hooks))
	}
	for i, u := range s.hooks {
		secret := strings.TrimSpace(secrets[i])
		if len(secret) < 16 {
			return nil, fmt.Errorf("--webhook-secret-file %s:%d: want a secret of at least 16 characters", s.secretFile, i+1)
		}
		hooks = append(hooks, webhook.Hook{URL: u, Secret: []byte(secret)})
	}
	return hooks, nil
}

// tell lets webhooks be told of what changes in the store, until the publisher's end.
func (p *publisher) tell(s *store.Store, hooks []webhook.Hook) error {
	if len(hooks) == 0 {
		return nil
	}
	told, err := webhook.NewSender(webhook.Options{
		Store: s, Bell: &p.bell, Clock: p.clock, Logger: p.logger, Hooks: hooks,
		Transport: hookTransport(p.allowPrivate), FS: vfs.Default, Dir: filepath.Join(p.dir, "webhooks", p.crawl),
	})
	if err != nil {
		return err
	}
	p.told.Store(told)
	p.running.Go(func() { told.Run(p.ctx) })
	return nil
}

// hookTransport makes the requests to webhooks: directly, and to addresses of the public Internet alone
// unless others are permitted.
func hookTransport(allowPrivate bool) *http.Transport {
	dialer := hookDialer(allowPrivate)
	return &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 1}
}

// hookDialer looks at every address that a name has led to, before it is connected to.
func hookDialer(allowPrivate bool) *net.Dialer {
	return &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || allowPrivate {
			return err
		}
		return fetch.Guard(to.Addr())
	}}
}
