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

// What others wrote is shown on the server that steers the crawl. Two things keep it in its place.
//
// Without scripts, a page has an origin of its own and loads stored versions alone.
//
// With scripts, which a viewer asks for by the modifier sc_, it stands in a frame. What the frame may go to is
// the word of the page around it, which is ours: a script that leads its own frame away is held by that, and the
// top it cannot reach. All that it loads lies under scriptPrefix and a token that belongs to its registrable
// domain: nothing of other domains is there, and no other page can know the token.
//
// A browser sends no cookie with what such a page loads, as the page has no origin, and no font loads for it unless
// the server says that any page may have it. So a person sees pages without scripts under copyPrefix and a token of its
// own, which stands for all domains. What runs scripts never comes to know it.

const (
	// scriptPrefix is where what runs scripts is shown: /script/TOKEN/20260131120000/http://example.org/.
	scriptPrefix = "/script/"
	// copyPrefix is where a browser is shown what runs none: /copy/TOKEN/20260131120000/http://example.org/.
	copyPrefix = "/copy/"
	// allDomains is in place of the domain in a token of copyPrefix. No domain is called so.
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

// view is how stored versions are shown, and where.
type view struct {
	from   string // scheme and authority
	prefix string // before addresses: replayPrefix, or one of the others with a token
	token  string // of scripts; "": without
}

func (v view) scripts() bool { return v.token != "" }

// confine takes from a stored version what it could do here: to read or send what is not in its view, to post
// forms, to open windows, to leave its frame.
func (v view) confine(h http.Header) {
	policy := "sandbox; default-src %[1]s 'unsafe-inline' data: blob:; script-src 'none'; base-uri %[1]s; form-action 'none'"
	if v.scripts() {
		policy = "sandbox allow-scripts; default-src %[1]s 'unsafe-inline' 'unsafe-eval' data: blob:; frame-src %[1]s; " +
			"object-src 'none'; base-uri %[1]s; form-action 'none'"
	}
	h.Set("Content-Security-Policy", fmt.Sprintf(policy, v.from+v.prefix))
	// What no policy of content holds: WebRTC, connections made ahead of requests, and look-ups of names.
	// What leads on from a stored version is another one: of a page's time, or where it redirected.
	h.Set("Connection-Allowlist", fmt.Sprintf("(%q);redirects=allow;webrtc=block", v.from+v.prefix+"*"))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex")
}

// share lets sandboxed pages that know the token of a view have what is answered there, what leads on included.
func (v view) share(h http.Header) {
	if v.prefix != replayPrefix {
		h.Set("Access-Control-Allow-Origin", "null")
	}
}

// seen reports whether a stored version is asked for by a browser that is to show it.
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

// replayCopy shows what stands below copyPrefix. A token of before the server has started again leads to the address
// that wants none.
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

// within returns an error unless a view with scripts may show a page.
func (s *server) within(v view, u weburl.URL) error {
	if !hmac.Equal([]byte(v.token), []byte(s.key.token(u.Domain()))) {
		return fmt.Errorf("%s %w here: it belongs to another domain than the page whose scripts run, or Freshet has been restarted: reload the page", u, errRefused)
	}
	return nil
}

// replayScripts shows what is in a frame whose scripts run, or is loaded by it. Opened by itself, it leads to
// the page with the frame; a browser that does not say what it wants it for gets nothing.
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

// frame answers with the page around the frame in which a version's scripts run.
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
	framePage.Execute(w, struct{ URL, Frame string }{a.url.String(), prefix + inner.text()})
}
