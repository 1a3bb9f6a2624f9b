package dashboard

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Access says who may ask. Authority never lies in what a browser sends by itself: there is no cookie,
// and a page of another site can neither steer nor, by a name that it makes lead here, look in.
type Access struct {
	// Token, if there is one, has to be sent with every request, as "Authorization: Bearer TOKEN".
	// Without one, a browser must reach the server as localhost or by a loopback address.
	Token string
}

// Guard lets a request through to next only if Access permits it: the token, compared in constant
// time; the Host field; and for orders, which are POST alone, a JSON body and no other origin. What comes to
// the callback of hubs passes: there a signature is wanted.
func (a Access) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == callbackPath {
			next.ServeHTTP(w, r)
			return
		}
		switch err := a.check(r); {
		case errors.Is(err, errToken):
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, err)
		case errors.Is(err, errType):
			refuse(w, http.StatusUnsupportedMediaType, err)
		case err != nil:
			refuse(w, http.StatusForbidden, err)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

var (
	errToken = errors.New("want Authorization: Bearer and the token")
	errType  = errors.New("want Content-Type: application/json")
)

func (a Access) check(r *http.Request) error {
	if a.Token != "" && !a.authorized(r.Header.Get("Authorization")) {
		return errToken
	}
	if a.Token == "" && !isLoopback(r.Host) {
		return fmt.Errorf("host %q: want localhost, or a loopback address", r.Host)
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return errType
	}
	switch from := r.Header.Get("Sec-Fetch-Site"); from {
	case "", "none", "same-origin":
	default:
		return fmt.Errorf("a request from another site: Sec-Fetch-Site %q", from)
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || u.Host != r.Host {
			return fmt.Errorf("a request from another site: Origin %q", origin)
		}
	}
	return nil
}

// authorized compares digests, so that not even a length can be told by the time it takes.
func (a Access) authorized(header string) bool {
	scheme, token, _ := strings.Cut(header, " ")
	given, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(a.Token))
	return subtle.ConstantTimeCompare(given[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// isLoopback tells whether a Host field names this machine as no name server can.
func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// rightsHeader, of the value lookOnly, says of a request that who sent it may only look. What lies between may set it; it
// takes rights away and never gives any.
const (
	rightsHeader = "Freshet-Rights"
	lookOnly     = "look"
)

// LookOnly takes the right to steer from a request: the window shows no orders.
func LookOnly(r *http.Request) { r.Header.Set(rightsHeader, lookOnly) }

// looksOnly reports whether who sent a request may only look.
func looksOnly(r *http.Request) bool { return r.Header.Get(rightsHeader) == lookOnly }
