package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"freshet/weburl"
)

// Stored versions have the addresses of Memento (RFC 7089) and pywb:
//
//	/web/20260131120000/http://example.org/     the version of that second, its references rewritten
//	/web/20260131120000id_/http://example.org/  the same, as it was sent
//	/web/20260131120000sc_/http://example.org/  the same with its scripts, in a frame
//	/web/http://example.org/                    leads to the last one
//	/timegate/http://example.org/               leads to the nearest to Accept-Datetime
//	/timemap/link/http://example.org/           lists them all
//
// Browsers are redirected, see confine.go.

const (
	replayPrefix   = "/web/"
	timeGatePrefix = "/timegate/"
	timeMapPrefix  = "/timemap/link/"
)

// moment is the form of a time in an address, to the second, in UTC.
const moment = "20060102150405"

// address is the address of a page at a time, after replayPrefix.
type address struct {
	at       time.Time // zero: the last version
	modifier string    // asSent, withScripts or none
	url      weburl.URL
}

const (
	asSent      = "id_"
	withScripts = "sc_"
)

// String returns the address with replayPrefix.
func (a address) String() string { return replayPrefix + a.text() }

// text returns the address without a prefix.
func (a address) text() string {
	if a.at.IsZero() {
		return a.url.String()
	}
	return a.at.UTC().Format(moment) + a.modifier + "/" + a.url.String()
}

// parseAddress reads what follows replayPrefix. A time may be shortened: "2026" is the first second of 2026.
// Modifiers other than id_ and sc_, such as pywb's im_, are ignored.
func parseAddress(text string) (a address, err error) {
	first, rest, _ := strings.Cut(text, "/")
	digits := strings.TrimRight(first, "abcdefghijklmnopqrstuvwxyz_")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		a.url, err = parseTarget(text)
		return a, err
	}
	modifier := first[len(digits):]
	if modifier != "" && (len(modifier) != 3 || modifier[2] != '_') {
		return a, fmt.Errorf("modifier %q: want id_ or sc_", modifier)
	}
	if a.at, err = parseMoment(digits); err != nil {
		return a, err
	}
	if modifier == asSent || modifier == withScripts {
		a.modifier = modifier
	}
	a.url, err = parseTarget(rest)
	return a, err
}

// parseMoment reads 4, 6, 8, 10, 12 or 14 digits of a time.
func parseMoment(digits string) (time.Time, error) {
	if len(digits) >= 4 && len(digits) <= len(moment) && len(digits)%2 == 0 {
		if t, err := time.Parse(moment, digits+"00000101000000"[len(digits):]); err == nil && t.Year() > 0 {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("time %q: want 14 digits such as 20260131120000", digits)
}

// parseTarget reads the URL of an address. A proxy may have folded its slashes.
func parseTarget(text string) (u weburl.URL, err error) {
	for _, scheme := range []string{"http:/", "https:/"} {
		if rest, ok := strings.CutPrefix(text, scheme); ok && !strings.HasPrefix(rest, "/") {
			text = scheme + "/" + rest
		}
	}
	if !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
		return u, fmt.Errorf("page %.200q: want a URL with http:// or https://", text)
	}
	return weburl.Parse(text)
}

// errRefused and errGone say why a known page has no version to show.
var (
	errRefused = errors.New("may not be shown")
	errGone    = errors.New("taken down")
)

// shown returns the kept past of a page, or an error if it must not be shown.
func (s *server) shown(url string) (history History, err error) {
	history, err = s.reader.History(url)
	switch page := history.Page; {
	case err != nil:
	case page.State == "purged":
		err = fmt.Errorf("%s has been %w", page.URL, errGone)
	case page.State == "withdrawn":
		err = fmt.Errorf("%s %w: its owner does not allow it (%s)", page.URL, errRefused, page.Reason)
	}
	return history, err
}

// mementos returns the versions of a page that may be shown, oldest first. Of several in one second it returns the
// last.
func (s *server) mementos(u weburl.URL) (kept []Version, page Page, err error) {
	history, err := s.shown(u.String())
	if page = history.Page; err != nil {
		return nil, page, err
	}
	for _, v := range history.Versions {
		if v.WARC == "" {
			continue
		}
		if n := len(kept); n > 0 && kept[n-1].At.Unix() == v.At.Unix() {
			kept = kept[:n-1]
		}
		kept = append(kept, v)
	}
	switch {
	case len(kept) > 0 || page.RedirectsTo != "":
		return kept, page, nil
	case len(history.Versions) > 0:
		return nil, page, fmt.Errorf("%s %w: its content is no longer kept", u, errRefused)
	}
	return nil, page, fmt.Errorf("%w: no version of %s", ErrNotFound, u)
}

// nearest returns the index of the version nearest to a time, the last for the zero time; versions is not
// empty.
func nearest(versions []Version, at time.Time) int {
	best := len(versions) - 1
	if at.IsZero() {
		return best
	}
	for i, v := range versions {
		if v.At.Truncate(time.Second).Sub(at).Abs() < versions[best].At.Truncate(time.Second).Sub(at).Abs() {
			best = i
		}
	}
	return best
}

// isMemento reports whether a request is for a stored version, a TimeGate or a TimeMap.
func isMemento(path string) bool {
	for _, prefix := range []string{replayPrefix, copyPrefix, scriptPrefix, timeGatePrefix, timeMapPrefix} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// memento answers such a request. It does not use a ServeMux, which would fold the slashes of a URL in a path.
func (s *server) memento(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
		return
	}
	from, err := originOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path := r.URL.RequestURI()
	if text, ok := strings.CutPrefix(path, replayPrefix); ok {
		s.replay(w, r, view{from: from, prefix: replayPrefix}, text)
	} else if text, ok := strings.CutPrefix(path, copyPrefix); ok {
		s.replayCopy(w, r, from, text)
	} else if text, ok := strings.CutPrefix(path, scriptPrefix); ok {
		s.replayScripts(w, r, from, text)
	} else if text, ok := strings.CutPrefix(path, timeGatePrefix); ok {
		s.timeGate(w, r, from, text)
	} else {
		s.timeMap(w, from, strings.TrimPrefix(path, timeMapPrefix))
	}
}

// originOf returns the scheme and authority of a request's address.
func originOf(r *http.Request) (string, error) {
	if r.Host == "" || strings.Trim(r.Host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]") != "" {
		return "", fmt.Errorf("host %q: want a name or an address", r.Host)
	}
	if overTLS(r) {
		return "https://" + r.Host, nil
	}
	return "http://" + r.Host, nil
}

// overTLS reports whether a request came over TLS, here or at a proxy.
func overTLS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// timeGate redirects to the version nearest to Accept-Datetime, or to the last version without that header.
func (s *server) timeGate(w http.ResponseWriter, r *http.Request, from, text string) {
	u, err := parseTarget(text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var at time.Time
	w.Header().Set("Vary", "Accept-Datetime")
	if wanted := r.Header.Get("Accept-Datetime"); wanted != "" {
		if at, err = http.ParseTime(wanted); err != nil {
			http.Error(w, fmt.Sprintf("Accept-Datetime %.100q: want a time such as Sat, 31 Jan 2026 12:00:00 GMT", wanted), http.StatusBadRequest)
			return
		}
	}
	kept, page, err := s.mementos(u)
	if err != nil {
		deny(w, err)
		return
	}
	w.Header().Set("Link", strings.Join(links(from, u, kept, -1), ", "))
	if len(kept) == 0 {
		s.redirect(w, view{from: from, prefix: replayPrefix}, page, address{at: at})
		return
	}
	w.Header().Set("Location", from+address{at: kept[nearest(kept, at)].At, url: u}.String())
	w.WriteHeader(http.StatusFound)
}

// timeMap lists the versions in the application/link-format of RFC 6690.
func (s *server) timeMap(w http.ResponseWriter, from, text string) {
	u, err := parseTarget(text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	kept, _, err := s.mementos(u)
	if err != nil {
		deny(w, err)
		return
	}
	list := links(from, u, nil, -1)
	for i, v := range kept {
		list = append(list, mementoLink(from, u, v, relation(i, len(kept))))
	}
	w.Header().Set("Content-Type", "application/link-format")
	fmt.Fprintf(w, "%s\n", strings.Join(list, ",\n"))
}

// links returns the values of a version's Link header: the page, its TimeGate and TimeMap, and the first, last,
// previous and next version. shown is the index of the version; -1: none is shown.
func links(from string, u weburl.URL, kept []Version, shown int) []string {
	list := []string{
		fmt.Sprintf(`<%s>; rel="original"`, u),
		fmt.Sprintf(`<%s%s%s>; rel="timegate"`, from, timeGatePrefix, u),
		fmt.Sprintf(`<%s%s%s>; rel="timemap"; type="application/link-format"`, from, timeMapPrefix, u),
	}
	for i, v := range kept {
		rel := relation(i, len(kept))
		switch {
		case shown >= 0 && i == shown-1:
			rel = strings.Replace(rel, "memento", "prev memento", 1)
		case shown >= 0 && i == shown+1:
			rel = strings.Replace(rel, "memento", "next memento", 1)
		case i != shown && rel == "memento":
			continue
		}
		list = append(list, mementoLink(from, u, v, rel))
	}
	return list
}

func mementoLink(from string, u weburl.URL, v Version, rel string) string {
	return fmt.Sprintf(`<%s%s>; rel="%s"; datetime="%s"`, from, address{at: v.At, url: u}, rel, v.At.UTC().Format(http.TimeFormat))
}

// relation returns the link relation of version i of n, from 0.
func relation(i, n int) string {
	rel := "memento"
	if i == n-1 {
		rel = "last " + rel
	}
	if i == 0 {
		rel = "first " + rel
	}
	return rel
}

// deny answers that there is nothing to show, in words.
func deny(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	switch {
	case errors.Is(err, errGone):
		code = http.StatusGone
	case errors.Is(err, errRefused):
		code = http.StatusForbidden
	case errors.Is(err, ErrNotFound):
		code = http.StatusNotFound
	}
	http.Error(w, err.Error(), code)
}
