package dashboard

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

// feeds is a Reader that has one feed and one other page.
type feeds struct{ fake }

func (feeds) Content(u string, _ uint32, _ time.Time) (Content, error) {
	switch u {
	case "http://a.test/feed":
		return Content{Header: http.Header{"Content-Type": {"text/xml"}}, Body: bodyOf(`<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"></feed>`)}, nil
	case "http://a.test/":
		return Content{Header: http.Header{"Content-Type": {"text/html"}}, Body: bodyOf("<p>no feed")}, nil
	}
	return Content{}, ErrNotFound
}

const (
	theFeed   = "http://a.test/feed"
	theSecret = "the secret of a subscription"
)

// hubHandler is a guarded API with a callback. It wants a token that a hub does not have.
func hubHandler(secret string) (http.Handler, *[]any) {
	got := &[]any{}
	return Access{Token: "swordfish"}.Guard(Handler(Options{Reader: feeds{}, Steerer: steered{got}, HubSecret: secret})), got
}

func signature(method string, digest func() hash.Hash, secret, body string) string {
	mac := hmac.New(digest, []byte(secret))
	mac.Write([]byte(body))
	return method + "=" + hex.EncodeToString(mac.Sum(nil))
}

// TestHubVerifies holds the subscriptions that the hub may confirm: those to feeds that the crawl has, and the end of
// all others.
func TestHubVerifies(t *testing.T) {
	h, _ := hubHandler(theSecret)
	for _, tt := range []struct {
		name                   string
		topic, of, mode, proof string
		code                   int
	}{
		{"a feed", theFeed, theFeed, "subscribe", "echo <b>me", 200},
		{"the end of one to a feed", theFeed, theFeed, "unsubscribe", "echo", 404},
		{"another page", "http://a.test/", "http://a.test/", "subscribe", "echo", 404},
		{"an unknown page", "http://b.test/feed", "http://b.test/feed", "subscribe", "echo", 404},
		{"the end of one to an unknown page", "http://b.test/feed", "http://b.test/feed", "unsubscribe", "echo", 200},
		{"another topic than the callback's", theFeed, "http://a.test/other", "subscribe", "echo", 404},
		{"no challenge", theFeed, theFeed, "subscribe", "", 400},
		{"a huge challenge", theFeed, theFeed, "subscribe", strings.Repeat("x", maxChallenge+1), 400},
		{"no mode", theFeed, theFeed, "", "echo", 400},
		{"a denial", theFeed, theFeed, "denied", "", 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := url.Values{"topic": {tt.topic}, "hub.topic": {tt.of}, "hub.mode": {tt.mode}, "hub.challenge": {tt.proof}}
			response, body := get(t, h, callbackPath+"?"+q.Encode())
			if response.StatusCode != tt.code || tt.code == 200 && body != tt.proof {
				t.Errorf("%d %q: want %d", response.StatusCode, body, tt.code)
			}
			if kind := response.Header.Get("Content-Type"); tt.proof != "" && tt.code == 200 && !strings.HasPrefix(kind, "text/plain") {
				t.Errorf("the challenge is sent as %s", kind)
			}
		})
	}
}

// TestHubTells holds that a notice is a ping of its topic if the secret signs it. No other notice is.
func TestHubTells(t *testing.T) {
	const body = "<feed/>"
	for _, tt := range []struct {
		name, topic, body, signature string
		code                         int
	}{
		{"signed by SHA-1", theFeed, body, signature("sha1", sha1.New, theSecret, body), 202},
		{"signed by SHA-512", theFeed, body, signature("sha512", sha512.New, theSecret, body), 202},
		{"an empty notice", theFeed, "", signature("sha512", sha512.New, theSecret, ""), 202},
		{"not signed", theFeed, body, "", 403},
		{"signed by another secret", theFeed, body, signature("sha1", sha1.New, "another", body), 403},
		{"another body", theFeed, body + " ", signature("sha1", sha1.New, theSecret, body), 403},
		{"signed by another method than it says", theFeed, body, signature("sha512", sha1.New, theSecret, body), 403},
		{"an unknown method", theFeed, body, signature("md5", sha1.New, theSecret, body), 403},
		{"no hexadecimal", theFeed, body, "sha1=xyz", 403},
		{"no feed", "http://a.test/", body, signature("sha1", sha1.New, theSecret, body), 410},
		{"too long", theFeed, strings.Repeat("x", maxNotice+1), "sha1=00", 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, got := hubHandler(theSecret)
			r := httptest.NewRequest(http.MethodPost, callbackPath+"?topic="+url.QueryEscape(tt.topic), strings.NewReader(tt.body))
			r.Header.Set("Content-Type", "application/atom+xml")
			r.Header.Set("X-Hub-Signature", tt.signature)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			var want []any
			if tt.code == 202 {
				want = []any{PingOrder{URLs: []string{theFeed}}}
			}
			if w.Code != tt.code || len(*got) != len(want) || len(want) > 0 && !reflect.DeepEqual(*got, want) {
				t.Errorf("%d, pings %v: want %d, %v", w.Code, *got, tt.code, want)
			}
		})
	}
}

// TestNoHub holds that without a secret there is no callback, and no way past the guard.
func TestNoHub(t *testing.T) {
	h, got := hubHandler("")
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut} {
		for _, path := range []string{callbackPath, callbackPath + "/", "/api/v1/x/../websub", "/api/v1/websub/../ping"} {
			r := httptest.NewRequest(method, path, strings.NewReader("{}"))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code < 400 && w.Code != http.StatusTemporaryRedirect || len(*got) > 0 {
				t.Errorf("%s %s: %d, orders %v", method, path, w.Code, *got)
			}
		}
	}
}

// FuzzHub holds that no notice without the secret's signature is heard, and none panics.
func FuzzHub(f *testing.F) {
	f.Add(theFeed, "<feed/>", signature("sha1", sha1.New, theSecret, "<feed/>"))
	f.Add(theFeed, "", "sha256=")
	f.Add("", "x", "=")
	h, got := hubHandler(theSecret)
	f.Fuzz(func(t *testing.T, topic, body, signed string) {
		*got = nil
		r := httptest.NewRequest(http.MethodPost, callbackPath+"?topic="+url.QueryEscape(topic), strings.NewReader(body))
		r.Header.Set("X-Hub-Signature", signed)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		method, _, _ := strings.Cut(signed, "=")
		digest := digestOf(method)
		right := digest != nil && strings.EqualFold(signed, signature(method, digest, theSecret, body)) && topic == theFeed
		if w.Code >= 500 || right != (len(*got) == 1) {
			t.Fatalf("%q %q %q: %d, orders %v", topic, body, signed, w.Code, *got)
		}
	})
}
