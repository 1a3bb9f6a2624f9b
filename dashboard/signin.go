package dashboard

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"freshet/clock"
)

// A person types a token once and gets a cookie. The cookie says what its owner may do and until when, and is
// signed with the token. So the server keeps nothing, and a changed token ends earlier sessions. Scripts do not see
// the cookie, and a browser does not send it with requests that another site starts.

const (
	signInPath  = "/sign-in"
	signOutPath = "/sign-out"
	sessionTime = 30 * 24 * time.Hour
	maxSignIn   = 8 << 10 // bytes of a form
)

// cookieName returns the name of the cookie. Cookies do not distinguish the ports of a host, so the name includes
// the port.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "freshet-" + port
	}
	return "freshet"
}

// session is the content of a cookie.
type session struct {
	who   role
	until time.Time
	mac   []byte
}

// String returns the value of the cookie: role.expiry.mac
func (s session) String() string { return s.signed() + "." + hex.EncodeToString(s.mac) }

func (s session) signed() string { return fmt.Sprintf("%s.%d", s.who, s.until.Unix()) }

func (s session) over() bool { return !clock.Real().Now().Before(s.until) }

func parseSession(value string) (s session, err error) {
	parts := strings.Split(value, ".")
	if len(parts) != 3 {
		return s, errors.New("want role, expiry and mac")
	}
	until, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return s, err
	}
	mac, err := hex.DecodeString(parts[2])
	return session{role(parts[0]), time.Unix(until, 0), mac}, err
}

// sign returns the signature of a session, nil if there is no token for its role.
func (a Access) sign(s session) []byte {
	token := map[role]string{leader: a.Token, looker: a.LookToken}[s.who]
	if token == "" {
		return nil
	}
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("freshet " + s.signed()))
	return mac.Sum(nil)
}

// newSession returns a session that begins now.
func (a Access) newSession(who role) session {
	s := session{who: who, until: clock.Real().Now().Add(sessionTime)}
	s.mac = a.sign(s)
	return s
}

// roleOfSession returns the role of a session.
func (a Access) roleOfSession(s session) role {
	if want := a.sign(s); want == nil || !hmac.Equal(s.mac, want) {
		return nobody
	}
	return s.who
}

// wantsPage reports whether a browser requests a page to show, and not a part of one.
func wantsPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" { // absent where a browser trusts neither name nor connection
		return mode == "navigate"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// askToken answers with the page that asks for the token and then goes to next.
func askToken(w http.ResponseWriter, r *http.Request, code int, next, fault string) {
	from, err := originOf(r)
	if err != nil {
		Refuse(w, http.StatusBadRequest, err)
		return
	}
	var page bytes.Buffer
	if err := windowPages.ExecuteTemplate(&page, "sign in", struct {
		Next, Fault string
		Days        int
		FromOutside bool // the browser withholds the cookie then, even after a sign-in
	}{localPath(next), fault, int(sessionTime / (24 * time.Hour)), r.Header.Get("Sec-Fetch-Site") == "cross-site"}); err != nil {
		fail(w, err)
		return
	}
	confineWindow(w.Header(), from)
	w.WriteHeader(code)
	w.Write(page.Bytes())
}

// localPath returns text if it is an address of this server, or else the window's front page.
func localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") ||
		strings.Contains(text, `\`) || u.Path == signInPath {
		return "/"
	}
	return text
}

// signIn answers a typed token with a cookie.
func (g *guard) signIn(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(clock.Real().Deadline(orderTime))
	r.Body = http.MaxBytesReader(w, r.Body, maxSignIn)
	next := localPath(r.PostFormValue("next"))
	if err := fromHere(r); err != nil {
		askToken(w, r, http.StatusForbidden, next, err.Error())
		return
	}
	token := strings.TrimSpace(r.PostFormValue("token"))
	who, err := g.guesses.check(r, token, func() role { return g.roleOf(token) })
	switch {
	case errors.Is(err, errGuesses):
		askToken(w, r, http.StatusTooManyRequests, next, err.Error())
	case err != nil:
		askToken(w, r, http.StatusUnauthorized, next, "This is not the token.")
	default:
		setCookie(w, r, g.newSession(who).String(), int(sessionTime/time.Second))
		w.Header().Set("Location", next)
		w.WriteHeader(http.StatusSeeOther)
	}
}

// signOut deletes the cookie.
func (g *guard) signOut(w http.ResponseWriter, r *http.Request) {
	if err := fromHere(r); err != nil {
		Refuse(w, http.StatusForbidden, err)
		return
	}
	setCookie(w, r, "", -1)
	w.Header().Set("Location", "/")
	w.WriteHeader(http.StatusSeeOther)
}

func setCookie(w http.ResponseWriter, r *http.Request, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: value, MaxAge: seconds, Path: "/", HttpOnly: true, Secure: overTLS(r), SameSite: http.SameSiteStrictMode})
}

const (
	guessers       = 1024             // counters of wrong tokens
	guessEvery     = 10 * time.Second // a wrong token is forgotten after this time
	guessesAtOnce  = 10
	forwardedField = "X-Forwarded-For"
)

// guesses counts wrong tokens by sender, in a fixed number of counters. A sender that shares a counter with a
// guesser waits too.
type guesses struct {
	seed maphash.Seed

	mu     sync.Mutex
	places [guessers]guessed
}

// guessed is a counter of recent wrong tokens.
type guessed struct {
	until time.Time // when the counter is back at zero
	// hash of the last one: a program with a wrong token repeats it, and does not guess
	last uint64
}

func newGuesses() *guesses { return &guesses{seed: maphash.MakeSeed()} }

// check returns the result of checking what a request presents. It refuses a sender that was wrong too often
// without a check.
func (g *guesses) check(r *http.Request, presented string, check func() role) (role, error) {
	hash := maphash.String(g.seed, presented)
	place := &g.places[maphash.Comparable(g.seed, sender(r))%guessers]
	g.mu.Lock()
	defer g.mu.Unlock()
	now := clock.Real().Now()
	until := place.until
	if until.Before(now) {
		until = now
	}
	until = until.Add(guessEvery)
	if until.Sub(now) > guessesAtOnce*guessEvery {
		return nobody, errGuesses
	}
	who := check()
	if who != nobody {
		return who, nil
	}
	if hash != place.last {
		*place = guessed{until, hash}
	}
	return nobody, errWrong
}

// sender returns the address that sent a request; for IPv6, its network. A proxy on this machine or in a private
// network names the client.
func sender(r *http.Request) netip.Prefix {
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	addr := from.Addr().Unmap()
	if addr.IsLoopback() || addr.IsPrivate() {
		all := strings.Join(r.Header.Values(forwardedField), ",")
		if said, err := netip.ParseAddr(strings.TrimSpace(all[strings.LastIndex(all, ",")+1:])); err == nil {
			addr = said.Unmap()
		}
	}
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	network, _ := addr.Prefix(bits) // the zero Prefix if there is no address
	return network
}
