package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"freshet/fetch"
)

// TestHookTransport holds that a webhook in a private network is reached with permission alone.
func TestHookTransport(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for _, allowed := range []bool{false, true} {
		transport := hookTransport(allowed)
		response, err := (&http.Client{Transport: transport}).Get(server.URL)
		if allowed && err == nil {
			response.Body.Close()
		}
		if allowed != (err == nil) || !allowed && !errors.Is(err, fetch.ErrAddress) {
			t.Errorf("permitted %v: %v", allowed, err)
		}
		transport.CloseIdleConnections()
	}
}

func TestWebhookSettings(t *testing.T) {
	for name, test := range map[string]struct {
		urls    []string
		secrets string
		right   bool
	}{
		"none":            {nil, "", true},
		"one":             {[]string{"https://a.test/hook"}, "a secret of some length\n", true},
		"two":             {[]string{"https://a.test/hook", "http://b.test:8080/?x=1,2"}, "a secret of some length\nanother of some length", true},
		"too few secrets": {[]string{"https://a.test/hook", "https://b.test/"}, "a secret of some length\n", false},
		"too many":        {[]string{"https://a.test/hook"}, "a secret of some length\nanother of some length\n", false},
		"a short one":     {[]string{"https://a.test/hook"}, "short\n", false},
		"no file":         {[]string{"https://a.test/hook"}, "", false},
	} {
		s := feedSettings{}
		for _, u := range test.urls {
			if err := s.hooks.Set(u); err != nil {
				t.Fatal(err)
			}
		}
		if test.secrets != "" {
			s.secretFile = filepath.Join(t.TempDir(), "secrets")
			put(t, s.secretFile, test.secrets)
		}
		hooks, err := s.webhooks()
		if (err == nil) != test.right || err == nil && len(hooks) != len(test.urls) {
			t.Errorf("%s: %d webhooks, %v", name, len(hooks), err)
		}
	}
	for _, text := range []string{"", "a.test", "ftp://a.test/", "https:///hook", "https://a.test/#part", "https://b.test/"} {
		hooks := hookURLs{}
		if err := hooks.Set("https://b.test/"); err != nil {
			t.Fatal(err)
		}
		if hooks.Set(text) == nil {
			t.Errorf("%q: want an error", text)
		}
	}
}
