package dashboard

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"time"

	"freshet/clock"
	"freshet/extract"
	"freshet/weburl"
)

// A subscriber of WebSub has a callback for each topic, here a feed in the crawl. A hub asks the callback whether a
// subscription is wanted, and sends notices of news. It has no token of ours: it signs notices with a secret from
// the subscription.

// callbackPath is the path of the callback. The query names the topic.
const callbackPath = "/api/v1/websub"

const (
	maxNotice    = 4 << 20 // bytes of a hub's notice
	maxChallenge = 4 << 10 // bytes of a hub's challenge
	maxFeedHead  = 8 << 10 // bytes of a page that show whether it is a feed
)

// callback serves hubs.
type callback struct {
	reader  Reader
	steerer Steerer
	secret  []byte
	shows   shows
}

// isFeed reports whether the crawl has a feed with that URL.
func (c callback) isFeed(w http.ResponseWriter, r *http.Request, topic string) (bool, error) {
	if _, err := weburl.Parse(topic); err != nil {
		return false, nil
	}
	done, err := c.shows.begin(w, r)
	if err != nil {
		return false, err
	}
	defer done()
	content, err := c.reader.Content(topic, 0, time.Time{})
	if errors.Is(err, ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer content.Body.Close()
	head, _ := io.ReadAll(io.LimitReader(content.Body, maxFeedHead))
	// the beginning of a damaged one counts
	return len(head) > 0 && extract.IsFeed(content.Header.Get("Content-Type"), head), nil
}

// verify echoes the challenge to confirm a subscription to a feed of the crawl, or the end of one to anything else.
func (c callback) verify(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	topic, mode, challenge := q.Get("topic"), q.Get("hub.mode"), q.Get("hub.challenge")
	switch {
	case mode == "denied":
		return
	case mode != "subscribe" && mode != "unsubscribe":
		Refuse(w, http.StatusBadRequest, fmt.Errorf("hub.mode %q: want subscribe, unsubscribe or denied", mode))
		return
	case challenge == "" || len(challenge) > maxChallenge:
		Refuse(w, http.StatusBadRequest, fmt.Errorf("hub.challenge of %d bytes: want 1 to %d", len(challenge), maxChallenge))
		return
	}
	feed, err := c.isFeed(w, r, topic)
	switch {
	case err != nil:
		fail(w, err)
	case topic != q.Get("hub.topic") || feed != (mode == "subscribe"):
		Refuse(w, http.StatusNotFound, fmt.Errorf("%s of %q is not wanted", mode, q.Get("hub.topic")))
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = io.WriteString(w, challenge)
	}
}

// notice treats a signed notice as a ping of its topic. It does not read the content: the feed is fetched.
func (c callback) notice(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(clock.Real().Deadline(orderTime))
	method, signature, _ := strings.Cut(r.Header.Get("X-Hub-Signature"), "=")
	sum := digestOf(method)
	if sum == nil {
		Refuse(w, http.StatusForbidden, fmt.Errorf("signed by %q: want X-Hub-Signature of sha1, sha256, sha384 or sha512", method))
		return
	}
	mac := hmac.New(sum, c.secret)
	if _, err := io.Copy(mac, http.MaxBytesReader(w, r.Body, maxNotice)); err != nil {
		Refuse(w, http.StatusRequestEntityTooLarge, err)
		return
	}
	if given, err := hex.DecodeString(signature); err != nil || !hmac.Equal(given, mac.Sum(nil)) {
		Refuse(w, http.StatusForbidden, errors.New("the signature is not that of the secret"))
		return
	}
	topic := r.URL.Query().Get("topic")
	feed, err := c.isFeed(w, r, topic)
	switch {
	case err != nil:
		fail(w, err)
	case !feed:
		Refuse(w, http.StatusGone, fmt.Errorf("no feed %q", topic)) // tells the hub to end the subscription
	default:
		if _, err := c.steerer.Ping(PingOrder{URLs: []string{topic}}); err != nil {
			fail(w, err)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

// digestOf returns the digest of a signature's method, nil if WebSub has no such method.
func digestOf(method string) func() hash.Hash {
	switch method {
	case "sha1":
		return sha1.New
	case "sha256":
		return sha256.New
	case "sha384":
		return sha512.New384
	case "sha512":
		return sha512.New
	}
	return nil
}
