package dashboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"freshet/weburl"
)

// The server that steers the crawl also shows pages that others wrote. Two things confine them.
//
// A page without scripts has its own origin and loads only stored versions.
//
// A page with scripts, for which a viewer asks by the modifier sc_, is shown in a frame. Our page around the frame
// decides where the frame may navigate. A script that navigates its own frame is bound by that, and it cannot reach
// the top. Everything that it loads is under scriptPrefix and a token of its registrable domain. Nothing of other
// domains is there, and no other page can know the token.
//
// Such a page has no origin. So a browser sends no cookie when the page loads something, and it loads a font only
// if the server allows it to every page. Pages without scripts are therefore shown under copyPrefix and a token for
// all domains. Pages with scripts never learn that token.

const (
	// scriptPrefix begins the addresses of pages with scripts: /script/TOKEN/20260131120000/http://example.org/.
	scriptPrefix = "/script/"
	// copyPrefix begins the addresses of pages without scripts: /copy/TOKEN/20260131120000/http://example.org/.
	copyPrefix = "/copy/"
	// allDomains replaces the domain in a token of copyPrefix. No domain has this name.
	allDomains = "*"
)

// viewKey makes the tokens of a server.
type viewKey [32]byte

func newViewKey() (k viewKey) {
	rand.Read(k[:]) // never fails
	return k
}

// token returns the token of a registrable domain.
func (k viewKey) token(domain string) string {
	mac := hmac.New(sha256.New, k[:])
	mac.Write([]byte(domain))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// view is how and under which addresses stored versions are shown.
type view struct {
	from   string // scheme and authority
	prefix string // before addresses: replayPrefix, or one of the others with a token
	token  string // of scripts; "": without
}

func (v view) scripts() bool { return v.token != "" }

// confine sets the headers that keep a stored version from reading or sending anything outside of its view, posting
// forms, opening windows and leaving its frame.
func (v view) confine(h http.Header) {
	policy := "sandbox; default-src %[1]s 'unsafe-inline' data: blob:; script-src 'none'; base-uri %[1]s; form-action 'none'"
	if v.scripts() {
		policy = "sandbox allow-scripts; default-src %[1]s 'unsafe-inline' 'unsafe-eval' data: blob:; frame-src %[1]s; " +
			"object-src 'none'; base-uri %[1]s; form-action 'none'"
	}
	h.Set("Content-Security-Policy", fmt.Sprintf(policy, v.from+v.prefix))
	// Content-Security-Policy does not cover WebRTC, preconnections and look-ups of names. Redirects are allowed,
	// because they lead to other stored versions.
	h.Set("Connection-Allowlist", fmt.Sprintf("(%q);redirects=allow;webrtc=block", v.from+v.prefix+"*"))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex")
}

// share allows sandboxed pages that know the token of a view to read its answers, redirects included.
func (v view) share(h http.Header) {
	if v.prefix != replayPrefix {
		h.Set("Access-Control-Allow-Origin", "null")
	}
}

// seen reports whether a browser requests a stored version to show it.
func seen(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "document", "iframe", "frame":
		return true
	}
	return signedIn(r)
}

// copies is the view of a person, without scripts.
func (s *server) copies(from string) view {
	return view{from: from, prefix: copyPrefix + s.key.token(allDomains) + "/"}
}

// replayCopy shows versions under copyPrefix. A token from before a restart redirects to the address without a
// token.
func (s *server) replayCopy(w http.ResponseWriter, r *http.Request, from, text string) {
	token, rest, _ := strings.Cut(text, "/")
	if !hmac.Equal([]byte(token), []byte(s.key.token(allDomains))) {
		a, err := parseAddress(rest)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Location", a.String())
		w.WriteHeader(http.StatusFound)
		return
	}
	s.replay(w, r, s.copies(from), rest)
}

// within returns an error if a view with scripts must not show a page.
func (s *server) within(v view, u weburl.URL) error {
	if !hmac.Equal([]byte(v.token), []byte(s.key.token(u.Domain()))) {
		return fmt.Errorf("%s %w here: it belongs to another domain than the page whose scripts run, or Freshet has been restarted: reload the page", u, errRefused)
	}
	return nil
}

// replayScripts shows the content of a frame with scripts, and what that content loads. If the address is opened by
// itself, it redirects to the page with the frame. A browser that does not say what the request is for gets
// nothing.
func (s *server) replayScripts(w http.ResponseWriter, r *http.Request, from, text string) {
	token, rest, _ := strings.Cut(text, "/")
	switch destination := r.Header.Get("Sec-Fetch-Dest"); destination {
	case "":
		http.Error(w, "scripts of stored pages run only in a browser that sends Sec-Fetch-Dest: want a current one, and localhost or https", http.StatusForbidden)
	case "document":
		a, err := parseAddress(rest)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a.modifier = withScripts
		w.Header().Set("Location", a.String())
		w.WriteHeader(http.StatusFound)
	default:
		s.replay(w, r, view{from: from, prefix: scriptPrefix + token + "/", token: token}, rest)
	}
}

var framePage = template.Must(template.New("frame").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{{.URL}}</title>
<style>html,body{height:100%;margin:0}iframe{border:0;width:100%;height:100%;display:block}</style>
<iframe sandbox="allow-scripts" referrerpolicy="no-referrer" src="{{.Frame}}" title="{{.URL}}"></iframe></html>
`))

// frame answers with the page around the frame with scripts.
func (s *server) frame(w http.ResponseWriter, from string, a address) {
	prefix := scriptPrefix + s.key.token(a.url.Domain()) + "/"
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; style-src 'unsafe-inline'; frame-src %s; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", from+prefix))
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex")
	inner := address{at: a.at, url: a.url}
	_ = framePage.Execute(w, struct{ URL, Frame string }{a.url.String(), prefix + inner.text()})
}
