package main

import (
	"context"
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

// isHook returns an error for a URL that is no valid webhook.
func isHook(u *url.URL) error {
	if u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.Fragment != "" {
		return errors.New("want a URL such as https://example.org/hook")
	}
	return nil
}

// webhooks returns the webhooks with their secrets. The file has one secret per line.
func (s *feedSettings) webhooks() (hooks []webhook.Hook, err error) {
	if len(s.hooks.urls) == 0 {
		return nil, nil
	}
	if s.secretFile == "" {
		return nil, errors.New("--webhook needs --webhook-secret-file, a file with a secret such as openssl rand -hex 32 prints: it signs each message, so that the receiver can check the sender")
	}
	text, err := os.ReadFile(s.secretFile)
	if err != nil {
		return nil, fmt.Errorf("--webhook-secret-file: %w", err)
	}
	secrets := strings.Split(strings.TrimRight(string(text), "\r\n"), "\n")
	if len(secrets) != len(s.hooks.urls) {
		return nil, fmt.Errorf("--webhook-secret-file %s: %d lines for %d webhooks: want one each, in their order", s.secretFile, len(secrets), len(s.hooks.urls))
	}
	for i, u := range s.hooks.urls {
		secret := strings.TrimSpace(secrets[i])
		if len(secret) < 16 {
			return nil, fmt.Errorf("--webhook-secret-file %s:%d: want a secret of at least 16 characters, such as openssl rand -hex 32 prints", s.secretFile, i+1)
		}
		hooks = append(hooks, webhook.Hook{URL: u, Secret: []byte(secret)})
	}
	return hooks, nil
}

// tell sends changes of the store to the webhooks until the publisher's end.
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

// tellRest tells the webhooks the remaining changes at the end of the crawl. One that is too slow gets them in the next
// run.
func (p *publisher) tellRest(ctx context.Context) {
	if told := p.told.Load(); told != nil && ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(ctx, lastHand)
		defer cancel()
		told.CatchUp(ctx)
	}
}

// hookTransport makes requests to webhooks, without a proxy. It connects only to public addresses unless allowPrivate
// is set.
func hookTransport(allowPrivate bool) *http.Transport {
	dialer := hookDialer(allowPrivate)
	return &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 1}
}

// hookDialer checks every resolved address before it connects.
func hookDialer(allowPrivate bool) *net.Dialer {
	return &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || allowPrivate {
			return err
		}
		return fetch.Guard(to.Addr())
	}}
}
