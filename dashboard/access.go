package dashboard

import (
	"context"
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

// Access decides which requests are allowed. A page of another site can neither steer nor read, even if it makes a
// name of its own resolve to this server.
type Access struct {
	// Token, if set, must come with every request: as "Authorization: Bearer TOKEN", or as the cookie of a person
	// who has signed in with it (see signin.go). If it is not set, a browser must reach the server as localhost or
	// by a loopback address.
	Token string
	// LookToken, if set, is another token that allows reading and subscribing, but no orders.
	LookToken string
}

// role is what the owner of a token may do.
type role string

const (
	nobody role = ""
	looker role = "look"
	leader role = "steer" // and look
)

// Guard passes a request to next only if Access allows it. It checks the token, in constant time, and the Host
// field. Orders are POST requests: they need a JSON body and the same origin. Requests to the callback of hubs
// pass: the callback checks a signature. A health check passes too, under any name.
func (a Access) Guard(next http.Handler) http.Handler {
	return &guard{Access: a, next: next, guesses: newGuesses()}
}

// guard is the handler of an Access.
type guard struct {
	Access
	next    http.Handler
	guesses *guesses
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == healthPath && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		g.next.ServeHTTP(w, r)
	case path == callbackPath || g.Token != "" && needsNoToken(r):
		g.next.ServeHTTP(w, r)
	case g.Token != "" && path == signInPath && r.Method == http.MethodPost:
		g.signIn(w, r)
	case g.Token != "" && path == signOutPath && r.Method == http.MethodPost:
		g.signOut(w, r)
	default:
		asked, err := g.check(r)
		switch {
		case err != nil:
			g.refuse(w, r, err)
		case g.Token != "" && path == signInPath: // it is done
			w.Header().Set("Location", "/")
			w.WriteHeader(http.StatusSeeOther)
		default:
			g.next.ServeHTTP(w, asked)
		}
	}
}

// needsNoToken reports whether the address of a request authorises it (see confine.go), or whether everybody may
// see the answer.
func needsNoToken(r *http.Request) bool {
	path := r.URL.RequestURI() // as memento reads it
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		(strings.HasPrefix(path, copyPrefix) || strings.HasPrefix(path, scriptPrefix) || path == "/window.css")
}

var (
	errToken   = errors.New("this needs a token: send Authorization: Bearer TOKEN, or sign in with a browser")
	errWrong   = errors.New("this is not the token: send the one in the file of --token-file or --look-token-file")
	errGuesses = errors.New("too many wrong tokens from your address: try again in a minute")
	errLook    = errors.New("this token may look but not steer: orders need the token of --token-file")
	errType    = errors.New("want Content-Type: application/json")
)

// refuse answers with the reason why a request does not pass. It asks a person without a token for one.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, err error) {
	code := http.StatusForbidden
	switch {
	case errors.Is(err, errToken), errors.Is(err, errWrong):
		code = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", "Bearer")
	case errors.Is(err, errGuesses):
		code = http.StatusTooManyRequests
	case errors.Is(err, errType):
		code = http.StatusUnsupportedMediaType
	}
	if code == http.StatusUnauthorized && wantsPage(r) {
		askToken(w, r, code, r.URL.RequestURI(), "")
		return
	}
	Refuse(w, code, err)
}

// check returns the request for the next handler, or the reason why it does not pass.
func (g *guard) check(r *http.Request) (*http.Request, error) {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case g.Token != "":
		who, byCookie, err := g.whoAsks(r)
		if err != nil {
			return nil, err
		}
		if who == looker {
			LookOnly(r)
			if !reads && !strings.HasPrefix(r.URL.Path, "/feed/") { // a subscription orders nothing
				return nil, errLook
			}
		}
		if byCookie {
			r = r.WithContext(context.WithValue(r.Context(), signedInKey{}, true))
		}
	case !isLoopback(r.Host):
		return nil, fmt.Errorf("host %q: want localhost or a loopback address; other names need --token-file", r.Host)
	}
	if reads {
		return r, nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, errType
	}
	return r, fromHere(r)
}

// whoAsks returns the role that a request's token or cookie gives.
func (g *guard) whoAsks(r *http.Request) (who role, byCookie bool, err error) {
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		who, err = g.guesses.check(r, token, func() role { return g.roleOf(token) })
		return who, false, err
	}
	cookie, err := r.Cookie(cookieName(r))
	if err != nil {
		return nobody, false, errToken
	}
	s, err := parseSession(cookie.Value)
	if err != nil || s.over() {
		return nobody, false, errToken
	}
	who, err = g.guesses.check(r, cookie.Value, func() role { return g.roleOfSession(s) })
	return who, true, err
}

// roleOf returns the role of a token.
func (a Access) roleOf(token string) role {
	switch {
	case same(token, a.Token):
		return leader
	case a.LookToken != "" && same(token, a.LookToken):
		return looker
	}
	return nobody
}

// same compares digests, so that the time it takes does not reveal even a length.
func same(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// fromHere returns an error if a browser says that a page of another site sent the request.
func fromHere(r *http.Request) error {
	switch from := r.Header.Get("Sec-Fetch-Site"); from {
	case "", "none", "same-origin":
	default:
		return fmt.Errorf("a request from another site: Sec-Fetch-Site %q", from)
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || u.Host != r.Host {
			return fmt.Errorf("a request from another site: Origin %q of host %q; a proxy must pass on the Host field", origin, r.Host)
		}
	}
	return nil
}

// isLoopback reports whether a Host field names this machine in a way that no name server can forge.
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

// rightsHeader with the value lookOnly says that the sender of a request may only look. A proxy may set it: it
// removes rights and never grants any.
const (
	rightsHeader = "Freshet-Rights"
	lookOnly     = "look"
)

// LookOnly removes the right to steer from a request: the window then shows no orders.
func LookOnly(r *http.Request) { r.Header.Set(rightsHeader, lookOnly) }

// looksOnly reports whether the sender of a request may only look.
func looksOnly(r *http.Request) bool { return r.Header.Get(rightsHeader) == lookOnly }

// signedInKey marks the context of a request with the cookie of a person who has signed in.
type signedInKey struct{}

func signedIn(r *http.Request) bool { return r.Context().Value(signedInKey{}) != nil }
