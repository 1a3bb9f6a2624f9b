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

// A subscriber of WebSub has a callback for each topic, here a feed that the crawl has. A hub asks there
// whether a subscription is wanted, and tells there of news. It knows no token of ours: what it says carries
// its authority by a signature, of a secret that only the subscription has told it.

// callbackPath is the callback's; the query names the topic.
const callbackPath = "/api/v1/websub"

const (
	maxNotice    = 4 << 20 // bytes of a hub's notice
	maxChallenge = 4 << 10 // bytes of what a hub wants to have echoed
	maxFeedHead  = 8 << 10 // bytes of a page that tell whether it is a feed
)

// callback serves hubs.
type callback struct {
	reader  Reader
	steerer Steerer
	secret  []byte
	shows   shows
}

// isFeed reports whether the crawl holds a feed under that URL.
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
	// what a broken one begins with counts
	return len(head) > 0 && extract.IsFeed(content.Header.Get("Content-Type"), head), nil
}

// verify confirms that a subscription to a feed that is held is wanted, and that one to anything else may
// end, by the challenge.
func (c callback) verify(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	topic, mode, challenge := q.Get("topic"), q.Get("hub.mode"), q.Get("hub.challenge")
	switch {
	case mode == "denied":
		return
	case mode != "subscribe" && mode != "unsubscribe":
		refuse(w, http.StatusBadRequest, fmt.Errorf("hub.mode %q: want subscribe, unsubscribe or denied", mode))
		return
	case challenge == "" || len(challenge) > maxChallenge:
		refuse(w, http.StatusBadRequest, fmt.Errorf("hub.challenge of %d bytes: want 1 to %d", len(challenge), maxChallenge))
		return
	}
	feed, err := c.isFeed(w, r, topic)
	switch {
	case err != nil:
		fail(w, err)
	case topic != q.Get("hub.topic") || feed != (mode == "subscribe"):
		refuse(w, http.StatusNotFound, fmt.Errorf("%s of %q is not wanted", mode, q.Get("hub.topic")))
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		io.WriteString(w, challenge)
	}
}

// notice takes a signed notice for a ping of its topic. What it says is not read: the feed is fetched.
func (c callback) notice(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(clock.Real().Deadline(orderTime))
	method, signature, _ := strings.Cut(r.Header.Get("X-Hub-Signature"), "=")
	sum := digestOf(method)
	if sum == nil {
		refuse(w, http.StatusForbidden, fmt.Errorf("signed by %q: want X-Hub-Signature of sha1, sha256, sha384 or sha512", method))
		return
	}
	mac := hmac.New(sum, c.secret)
	if _, err := io.Copy(mac, http.MaxBytesReader(w, r.Body, maxNotice)); err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, err)
		return
	}
	if given, err := hex.DecodeString(signature); err != nil || !hmac.Equal(given, mac.Sum(nil)) {
		refuse(w, http.StatusForbidden, errors.New("the signature is not that of the secret"))
		return
	}
	topic := r.URL.Query().Get("topic")
	feed, err := c.isFeed(w, r, topic)
	switch {
	case err != nil:
		fail(w, err)
	case !feed:
		refuse(w, http.StatusGone, fmt.Errorf("no feed %q", topic)) // the hub may end the subscription
	default:
		if _, err := c.steerer.Ping(PingOrder{URLs: []string{topic}}); err != nil {
			fail(w, err)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

// digestOf returns the digest that a signature's method names, nil if it is none of WebSub's.
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
