package dashboard

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"freshet/clock"
)

// tokens are of a server that has both.
var tokens = Access{Token: "steering token", LookToken: "looking token"}

// told lies behind a guard. It reports the caller's role.
var told = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "signed in %v, only looks %v", signedIn(r), looksOnly(r))
})

// send sends a request with a form, if it has one, and a header to a handler.
func send(h http.Handler, method, target string, form url.Values, header http.Header) *http.Response {
	r := httptest.NewRequest(method, target, strings.NewReader(form.Encode()))
	r.Host = "crawler.test:8350"
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func bodyText(t *testing.T, response *http.Response) string {
	t.Helper()
	body := new(strings.Builder)
	if err := response.Write(body); err != nil {
		t.Fatal(err)
	}
	return body.String()
}

// signedInWith returns the header of a browser that has signed in.
func signedInWith(t *testing.T, h http.Handler, token string) http.Header {
	t.Helper()
	response := send(h, http.MethodPost, signInPath, url.Values{"token": {token}, "next": {"/sites"}}, nil)
	if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/sites" || len(response.Cookies()) != 1 {
		t.Fatalf("sign-in with %q: %d %v", token, response.StatusCode, response.Header)
	}
	cookie := response.Cookies()[0]
	return http.Header{"Cookie": {cookie.Name + "=" + cookie.Value}}
}

func TestSignIn(t *testing.T) {
	h := tokens.Guard(told)
	page := http.Header{"Accept": {"text/html,*/*"}}
	asked := send(h, http.MethodGet, "/page?url=http://a.test/%22%3E", nil, page)
	text := bodyText(t, asked)
	if asked.StatusCode != http.StatusUnauthorized || !strings.Contains(text, `action="/sign-in"`) || !strings.Contains(text, `value="/page?url=http://a.test/%22%3E"`) {
		t.Errorf("a browser without a token: %d %s", asked.StatusCode, text)
	}
	for name, header := range map[string]http.Header{
		"a program":        nil,
		"a page's picture": {"Accept": {"text/html"}, "Sec-Fetch-Mode": {"no-cors"}},
	} {
		if got := send(h, http.MethodGet, "/", nil, header); got.StatusCode != http.StatusUnauthorized || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.Header.Get("Content-Type"))
		}
	}
	for token, want := range map[string]string{" steering token\n": "signed in true, only looks false", "looking token": "signed in true, only looks true"} {
		if got := bodyText(t, send(h, http.MethodGet, "/", nil, signedInWith(t, h, token))); !strings.HasSuffix(got, want) {
			t.Errorf("signed in with %q: %s", token, got)
		}
	}
	wrong := send(h, http.MethodPost, signInPath, url.Values{"token": {"another"}, "next": {"/sites"}}, nil)
	if text := bodyText(t, wrong); wrong.StatusCode != http.StatusUnauthorized || len(wrong.Cookies()) > 0 || !strings.Contains(text, "not the token") || !strings.Contains(text, `value="/sites"`) {
		t.Errorf("a wrong token: %d %s", wrong.StatusCode, text)
	}
	large := send(h, http.MethodPost, signInPath, url.Values{"next": {strings.Repeat("x", maxSignIn)}, "token": {tokens.Token}}, nil)
	if large.StatusCode != http.StatusUnauthorized {
		t.Errorf("a form of any size: %d", large.StatusCode)
	}
	if got := send(h, http.MethodGet, signInPath, nil, signedInWith(t, h, tokens.Token)); got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/" {
		t.Errorf("who has signed in is asked again: %d", got.StatusCode)
	}
	if got := send(h, http.MethodGet, "/window.css", nil, nil); got.StatusCode != http.StatusOK {
		t.Errorf("the page's styles: %d", got.StatusCode)
	}
	out := send(h, http.MethodPost, signOutPath, url.Values{}, signedInWith(t, h, tokens.Token))
	if c := out.Cookies(); out.StatusCode != http.StatusSeeOther || len(c) != 1 || c[0].MaxAge >= 0 || c[0].Value != "" {
		t.Errorf("sign-out: %d %v", out.StatusCode, c)
	}
	for _, path := range []string{signInPath, signOutPath} {
		for _, elsewhere := range []http.Header{{"Origin": {"https://evil.test"}}, {"Origin": {"null"}}, {"Sec-Fetch-Site": {"same-site"}}} {
			if got := send(h, http.MethodPost, path, url.Values{"token": {tokens.Token}}, elsewhere); got.StatusCode != http.StatusForbidden || len(got.Cookies()) > 0 {
				t.Errorf("%s from %v: %d", path, elsewhere, got.StatusCode)
			}
		}
	}
	if got := send(Access{}.Guard(told), http.MethodPost, signInPath, url.Values{"token": {""}}, nil); len(got.Cookies()) > 0 {
		t.Error("where there is no token somebody signs in")
	}
}

func TestCookie(t *testing.T) {
	cookie := func(header http.Header) *http.Cookie {
		return send(tokens.Guard(told), http.MethodPost, signInPath, url.Values{"token": {tokens.Token}}, header).Cookies()[0]
	}
	for name, tt := range map[string]struct {
		header http.Header
		secure bool
	}{"plain": {nil, false}, "behind a proxy": {http.Header{"X-Forwarded-Proto": {"https"}}, true}} {
		c := cookie(tt.header)
		if c.Name != "freshet-8350" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure != tt.secure || c.MaxAge != 30*24*3600 || c.Domain != "" {
			t.Errorf("%s: %v", name, c)
		}
		if strings.Contains(c.Value, tokens.Token) {
			t.Errorf("%s: it says the token: %v", name, c)
		}
	}
}

// TestSession holds the cookies that the guard accepts.
func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steering, looking := tokens.newSession(leader), tokens.newSession(looker)
		longer, higher, empty := steering, looking, looking
		longer.until = longer.until.Add(time.Second)
		higher.who = leader
		keyless := Access{Token: tokens.Token}
		empty.mac = nil
		for _, tt := range []struct {
			name   string
			access Access
			value  string
			want   role
		}{
			{"steering", tokens, steering.String(), leader},
			{"looking", tokens, looking.String(), looker},
			{"of longer life", tokens, longer.String(), nobody},
			{"of another role", tokens, higher.String(), nobody},
			{"of no role", tokens, strings.TrimPrefix(steering.String(), "steer"), nobody},
			{"unsigned", tokens, empty.String(), nobody},
			{"signed by another token", tokens, Access{Token: "guessed"}.newSession(leader).String(), nobody},
			{"signed by the token for looks", tokens, Access{Token: tokens.LookToken}.newSession(leader).String(), nobody},
			{"after the token has changed", Access{Token: "new", LookToken: tokens.LookToken}, steering.String(), nobody},
			{"for looks, which have no token any more", keyless, looking.String(), nobody},
			{"for looks, signed by no token", keyless, Access{}.newSession(looker).String(), nobody},
			{"the token itself", tokens, tokens.Token, nobody},
			{"no time", tokens, "steer.x.00", nobody},
			{"no signature", tokens, strings.TrimRight(steering.String(), "0123456789abcdef"), nobody},
			{"no hexadecimal", tokens, steering.String() + "x", nobody},
			{"", tokens, "", nobody},
		} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.AddCookie(&http.Cookie{Name: cookieName(r), Value: tt.value})
			g := &guard{Access: tt.access, guesses: newGuesses()}
			if got, byCookie, err := g.whoAsks(r); got != tt.want || (err == nil) != (tt.want != nobody) || err == nil && !byCookie {
				t.Errorf("%s: %q %v, want %q", tt.name, got, err, tt.want)
			}
		}
		if err := clock.Real().Sleep(t.Context(), sessionTime-time.Second); err != nil {
			t.Fatal(err)
		}
		ask := func() int {
			return send(tokens.Guard(told), http.MethodGet, "/", nil, http.Header{"Cookie": {"freshet-8350=" + steering.String()}}).StatusCode
		}
		if code := ask(); code != http.StatusOK {
			t.Errorf("on its last day: %d", code)
		}
		_ = clock.Real().Sleep(t.Context(), time.Second)
		if code := ask(); code != http.StatusUnauthorized {
			t.Errorf("after its time: %d", code)
		}
	})
}

// TestLookToken holds that the token to look gives no orders, by header and by cookie.
func TestLookToken(t *testing.T) {
	h := tokens.Guard(told)
	bearer := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	for _, tt := range []struct {
		name   string
		header http.Header
		method string
		path   string
		code   int
	}{
		{"looks", bearer(tokens.LookToken), "GET", "/api/v1/status", 200},
		{"subscribes", bearer(tokens.LookToken), "POST", "/feed/stream", 200},
		{"orders", bearer(tokens.LookToken), "POST", "/api/v1/pause", 403},
		{"orders otherwise", bearer(tokens.LookToken), "DELETE", "/api/v1/pause", 403},
		{"looks in a browser", signedInWith(t, h, tokens.LookToken), "GET", "/", 200},
		{"orders in a browser", signedInWith(t, h, tokens.LookToken), "POST", "/api/v1/pause", 403},
		{"steers", bearer(tokens.Token), "POST", "/api/v1/pause", 200},
		{"steers in a browser", signedInWith(t, h, tokens.Token), "POST", "/api/v1/pause", 200},
		{"a password of a proxy beside the cookie", http.Header{"Cookie": signedInWith(t, h, tokens.Token)["Cookie"], "Authorization": {"Basic eDp5"}}, "GET", "/", 200},
		{"has neither", nil, "POST", "/api/v1/pause", 401},
	} {
		header := http.Header{"Content-Type": {"application/json"}}
		maps.Copy(header, tt.header)
		got := send(h, tt.method, tt.path, nil, header)
		if text := bodyText(t, got); got.StatusCode != tt.code || tt.code == http.StatusForbidden && !strings.Contains(text, "look but not steer") {
			t.Errorf("%s: %d %s", tt.name, got.StatusCode, text)
		}
	}
	steering := signedInWith(t, h, tokens.Token)
	for name, header := range map[string]http.Header{
		"as a form":             {"Content-Type": {"text/plain"}},
		"of another origin":     {"Content-Type": {"application/json"}, "Origin": {"https://crawler.test"}},
		"of a stored page":      {"Content-Type": {"application/json"}, "Origin": {"null"}},
		"of a neighbour's page": {"Content-Type": {"application/json"}, "Sec-Fetch-Site": {"same-site"}},
	} {
		maps.Copy(header, steering)
		if got := send(h, http.MethodPost, "/api/v1/pause", nil, header); got.StatusCode < 400 {
			t.Errorf("an order with a cookie %s: %d", name, got.StatusCode)
		}
	}
}

func TestLocalPath(t *testing.T) {
	for text, want := range map[string]string{
		"/sites?sort=due":                    "/sites?sort=due",
		"/web/20260131120000/http://a.test/": "/web/20260131120000/http://a.test/",
		"":                                   "/",
		"sites":                              "/",
		"https://evil.test/":                 "/",
		"//evil.test/":                       "/",
		"///evil.test/":                      "/",
		`/\evil.test/`:                       "/",
		`\\evil.test/`:                       "/",
		"/\t/evil.test/":                     "/",
		"/\n/evil.test/":                     "/",
		"javascript:alert(1)":                "/",
		"/sites\r\nSet-Cookie: a=b":          "/",
		signInPath + "?x":                    "/",
	} {
		if got := localPath(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestGuesses holds that a caller with too many wrong tokens waits. Other callers do not.
func TestGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := tokens.Guard(told)
		ask := func(token, remote, forwarded string) int {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = remote
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set(forwardedField, forwarded)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code
		}
		for range 3 * guessesAtOnce {
			if code := ask("an old token", "198.51.100.8:1234", ""); code != http.StatusUnauthorized {
				t.Fatalf("the same wrong token again: %d", code)
			}
		}
		const guesser = "198.51.100.7:1234"
		for i := range guessesAtOnce {
			if code := ask(fmt.Sprint(i), guesser, fmt.Sprint("192.0.2.", i)); code != http.StatusUnauthorized {
				t.Fatalf("guess %d: %d", i, code)
			}
		}
		if code := ask(tokens.Token, "198.51.100.7:4321", ""); code != http.StatusTooManyRequests {
			t.Errorf("after %d wrong tokens: %d", guessesAtOnce, code)
		}
		others := map[string]string{"198.51.100.8:1234": "", "203.0.113.9:1": "", "127.0.0.1:1": "198.51.100.7, 192.0.2.44", "10.0.0.1:1": "192.0.2.45", "[2001:db8::1]:1": ""}
		passed := 0
		for remote, forwarded := range others {
			if ask(tokens.Token, remote, forwarded) == http.StatusOK {
				passed++
			}
		}
		if passed < len(others)-1 { // one may share the place, by chance
			t.Errorf("of %d others %d pass", len(others), passed)
		}
		if code := ask(tokens.Token, "127.0.0.1:1", "192.0.2.1, 198.51.100.7"); code != http.StatusTooManyRequests {
			t.Errorf("the same by a proxy: %d", code)
		}
		_ = clock.Real().Sleep(t.Context(), guessEvery)
		if code := ask(tokens.Token, guesser, ""); code != http.StatusOK {
			t.Errorf("a while later: %d", code)
		}
		for range 3 * guessesAtOnce {
			if code := ask(tokens.LookToken, guesser, ""); code != http.StatusOK {
				t.Errorf("a right token counts: %d", code)
			}
		}
		if a, b, c := sender(&http.Request{RemoteAddr: "[2001:db8::1]:1"}), sender(&http.Request{RemoteAddr: "[2001:db8::2]:2"}), sender(&http.Request{RemoteAddr: "[2001:db8:0:1::1]:1"}); a != b || a == c {
			t.Errorf("networks %v, %v, %v", a, b, c)
		}
	})
}

// TestCopy holds the address that shows a version in a browser. The address has a token in it and needs no cookie.
func TestCopy(t *testing.T) {
	three := past{state: "live", versions: []Version{versionNumber(1), versionNumber(2), versionNumber(3)}}
	behind := Handler(Options{Reader: three})
	h := tokens.Guard(behind)
	const page = "/web/20260102120000/http://a.test/"
	led := send(h, http.MethodGet, page, nil, signedInWith(t, h, tokens.LookToken))
	at := led.Header.Get("Location")
	key, rest, _ := strings.Cut(strings.TrimPrefix(at, copyPrefix), "/")
	if led.StatusCode != http.StatusFound || !strings.HasPrefix(at, copyPrefix) || len(key) < 32 || rest != "20260102120000/http://a.test/" {
		t.Fatalf("who has signed in is led to %d %q", led.StatusCode, at)
	}
	if other := send(behind, http.MethodGet, page, nil, http.Header{"Sec-Fetch-Dest": {"iframe"}}).Header.Get("Location"); other != at {
		t.Errorf("a frame is led to %q, want %q", other, at)
	}
	shown := send(h, http.MethodGet, at, nil, nil)
	text := bodyText(t, shown)
	if shown.StatusCode != http.StatusOK || shown.Header.Get("Access-Control-Allow-Origin") != "null" || !strings.Contains(text, `href="`+copyPrefix+key+`/20260102120000/http://a.test/b"`) {
		t.Errorf("without a cookie: %d %s", shown.StatusCode, text)
	}
	if policy := shown.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "sandbox; default-src http://crawler.test:8350"+copyPrefix+key+"/ ") || !strings.Contains(policy, "script-src 'none'") {
		t.Errorf("its policy: %s", policy)
	}
	if allowed := shown.Header.Get("Connection-Allowlist"); !strings.Contains(allowed, ";redirects=allow;") {
		t.Errorf("what it needs may not be led on: %s", allowed)
	}
	framed := bodyText(t, send(h, http.MethodGet, "/web/20260102120000sc_/http://a.test/", nil, signedInWith(t, h, tokens.LookToken)))
	_, framed, _ = strings.Cut(framed, `src="`)
	scripted, _, _ := strings.Cut(framed, `"`)
	for _, tt := range []struct {
		name, method, path string
		code               int
		location           string
	}{
		{"scripts", "GET", scripted, 200, ""},
		{"the nearest", "GET", copyPrefix + key + "/2026/http://a.test/", 302, copyPrefix + key + "/20260101120000/http://a.test/"},
		{"a token of before", "GET", copyPrefix + strings.Repeat("0", 32) + "/" + rest, 302, page},
		{"no token", "GET", copyPrefix + "/" + rest, 302, page},
		{"nothing", "GET", copyPrefix, 400, ""},
		{"a token of scripts", "GET", scriptPrefix + key + "/" + rest, 403, ""},
		{"an order", "POST", copyPrefix + key + "/" + rest, 401, ""},
		{"no capability", "GET", page, 401, ""},
		{"an escaped one", "GET", "/%63opy/" + key + "/" + rest, 401, ""},
		{"a way up", "GET", copyPrefix + "../api/v1/status", 400, ""},
	} {
		header := http.Header{"Content-Type": {"application/json"}, "Sec-Fetch-Dest": {"image"}}
		got := send(h, tt.method, tt.path, nil, header)
		if got.StatusCode != tt.code || got.Header.Get("Location") != tt.location {
			t.Errorf("%s: %d %s, want %d %s", tt.name, got.StatusCode, got.Header.Get("Location"), tt.code, tt.location)
		}
		// A font is not led on by an answer that may not be shared.
		if shared := got.Header.Get("Access-Control-Allow-Origin") == "null"; strings.HasPrefix(tt.location, copyPrefix) && !shared {
			t.Errorf("%s: what leads on is not shared", tt.name)
		}
	}
}

// TestHealthCheck answers whoever asks whether the process is there, by any name, and tells them nothing else.
func TestHealthCheck(t *testing.T) {
	guarded := Access{Token: "a token of some length"}.Guard(Handler(Options{Reader: fake{}}))
	for _, h := range []http.Handler{guarded, Access{}.Guard(Handler(Options{Reader: fake{}}))} {
		request := httptest.NewRequest(http.MethodGet, "http://crawler.example:8350/healthz", nil)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request)
		if w.Code != http.StatusOK || w.Body.String() != "ok\n" {
			t.Errorf("%d: %q", w.Code, w.Body)
		}
	}
	for _, path := range []string{"/readyz", "/healthz/../", "/metrics"} {
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://crawler.example:8350"+path, nil))
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", path, w.Code)
		}
	}
}
