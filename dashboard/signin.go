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

// A person types a token once. The answer is a cookie that says what its owner may do and until when, signed by the
// token: nothing is kept here, and a changed token ends what was signed by the one before. Scripts do not see the
// cookie, and a browser sends it with nothing that another site begins.

const (
	signInPath  = "/sign-in"
	signOutPath = "/sign-out"
	sessionTime = 30 * 24 * time.Hour
	maxSignIn   = 8 << 10 // bytes of a form
)

// cookieName returns the name of the cookie. Browsers do not tell the ports of a host apart, so the name does.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "freshet-" + port
	}
	return "freshet"
}

// session is what a cookie says.
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

// sign returns what a session is signed by, nil if there is no token of its role.
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

// roleOfSession returns what a session lets its owner do.
func (a Access) roleOfSession(s session) role {
	if want := a.sign(s); want == nil || !hmac.Equal(s.mac, want) {
		return nobody
	}
	return s.who
}

// wantsPage reports whether a browser asks for something to show by itself.
func wantsPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" { // absent where a browser trusts neither name nor connection
		return mode == "navigate"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// askToken answers with the page that asks for the token, and leads to next then.
func askToken(w http.ResponseWriter, r *http.Request, code int, next, fault string) {
	from, err := originOf(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	var page bytes.Buffer
	if err := windowPages.ExecuteTemplate(&page, "sign in", struct {
		Next, Fault string
		Days        int
		FromOutside bool // a browser then keeps the cookie back, of those who have signed in too
	}{localPath(next), fault, int(sessionTime / (24 * time.Hour)), r.Header.Get("Sec-Fetch-Site") == "cross-site"}); err != nil {
		fail(w, err)
		return
	}
	confineWindow(w.Header(), from)
	w.WriteHeader(code)
	w.Write(page.Bytes())
}

// localPath returns an address of this server, the window's front if text is none.
func localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") ||
		strings.Contains(text, `\`) || u.Path == signInPath {
		return "/"
	}
	return text
}

// signIn gives who types a token a cookie.
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

// signOut takes the cookie away.
func (g *guard) signOut(w http.ResponseWriter, r *http.Request) {
	if err := fromHere(r); err != nil {
		refuse(w, http.StatusForbidden, err)
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
	guessers       = 1024             // places in which wrong tokens are counted
	guessEvery     = 10 * time.Second // a wrong token is forgotten after so long
	guessesAtOnce  = 10
	forwardedField = "X-Forwarded-For"
)

// guesses counts wrong tokens by who sends them, in a fixed number of places. Who shares a place with somebody who
// guesses waits with them.
type guesses struct {
	seed maphash.Seed

	mu     sync.Mutex
	places [guessers]guessed
}

// guessed is what was wrong recently.
type guessed struct {
	until time.Time // when all of it is forgotten
	// hash of the last: a program that was given a wrong token says it again and again, and guesses nothing
	last uint64
}

func newGuesses() *guesses { return &guesses{seed: maphash.MakeSeed()} }

// check returns what a check makes of what a request presents. Who was wrong too often is not checked.
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

// sender returns who sends a request: an address, of IPv6 a network. A proxy on this machine or in a private network
// says for whom it asks.
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
	network, _ := addr.Prefix(bits) // the zero Prefix of what is no address
	return network
}
