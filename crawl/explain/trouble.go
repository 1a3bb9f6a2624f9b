package explain

import (
	"fmt"
	"strings"
	"time"

	"freshet/store"
	"freshet/weburl"
)

// Trouble is what keeps a page from being stored and what to do about it, in a few words each.
type Trouble struct {
	Cause string `json:"cause"`
	// in the words of the command line; empty: an operator can do nothing
	Remedy string `json:"remedy,omitempty"`
}

// String returns both in one line.
func (t Trouble) String() string {
	if t.Remedy == "" {
		return t.Cause
	}
	return t.Cause + ": " + t.Remedy
}

// redirectsFollowed is the maximum number of redirects that are followed to the page in trouble.
const redirectsFollowed = 5

// trouble returns what keeps a page without a version from being stored, or nil if only time does.
func (x *explainer) trouble(row Page, site store.SiteRow) *Trouble {
	switch {
	case row.Versions > 0 || row.State == store.StatePurged:
		return nil
	case row.RefusedByRobots || !row.Visited && row.Queue != store.NoQueue:
		return x.robotsTrouble(site.Robots)
	case row.Strikes >= x.MaxStrikes:
		return &Trouble{"the crawl was cut off each time it processed " + x.url.String(), "freshet recrawl has it tried again"}
	case !row.Visited:
		return Outside(x.url, row.Reason)
	case !row.Redirect.IsZero():
		return x.redirected(row.Redirect)
	case row.SoftError:
		return &Trouble{x.url.String() + " says 200, and is an error page", "check the address"}
	case row.Truncated == store.TruncatedLength:
		return &Trouble{x.url.String() + " is longer than --max-body, and was cut off", "run again with a larger --max-body, or more --memory"}
	case row.Truncated != "":
		return &Trouble{"the answer of " + x.url.String() + " was cut off", x.later(row)}
	case row.Status != 0:
		return statusTrouble(x.url, row.Status, x.later(row))
	}
	return x.unanswered(row.Reason, x.later(row))
}

// runLater is the remedy for what may pass by itself.
const runLater = "run again later"

// later is runLater for a page. A page in no queue must come into one first.
func (x *explainer) later(row Page) string {
	if row.Queue == store.NoQueue {
		return "freshet recrawl " + x.url.String() + ", then " + runLater
	}
	return runLater
}

// Outside returns the trouble of a page that the crawl does not take in, with the reason of its scope or limits.
func Outside(u weburl.URL, reason string) *Trouble {
	return &Trouble{fmt.Sprintf("%s is outside of the crawl (%s)", u, reason), "see --scope, --opt-out and the limits"}
}

// shut returns the operator's order, or the failure of the host, that stops requests for the page now, or nil.
func (x *explainer) shut() *Trouble {
	g, closed := x.closed()
	switch {
	case !closed:
		return x.backsOff()
	case g.Reason == "paused":
		return &Trouble{"the crawl of " + string(x.url.Site()) + " is paused", "freshet resume lets it go on"}
	case g.Reason == "blocked":
		return &Trouble{x.url.Host() + " is blocked", "freshet unblock " + x.url.Host() + " lifts that"}
	}
	return &Trouble{x.url.Host() + " is not visited at this hour", "see its rule in the file that --scope names"}
}

// longWait is a wait that is worth telling: politeness alone is shorter, also after a restart.
const longWait = time.Minute

// backsOff returns the trouble of a host that failed, or asked for a pause, and is not asked for long, or nil.
func (x *explainer) backsOff() *Trouble {
	for _, g := range x.out.Gates {
		if g.Gate == "host" && g.Reason == "back-off" && g.Until != nil && g.Until.After(x.now.Add(longWait)) {
			cause := fmt.Sprintf("%s failed or asked for a pause, and is not asked again before %s", x.url.Host(), inWords(*g.Until))
			return &Trouble{cause, "wait, or run again later, with a longer --delay"}
		}
	}
	return nil
}

// closed returns the gate by which an operator stops requests to the host now.
func (x *explainer) closed() (Checked, bool) {
	for _, g := range x.out.Gates {
		if g.Gate == "host" && (g.Reason == "paused" || g.Reason == "blocked" || g.Reason == "hours") {
			return g, true
		}
	}
	return Checked{}, false
}

// robotsTrouble returns the trouble that follows from the last request for robots.txt.
func (x *explainer) robotsTrouble(state store.RobotsState) *Trouble {
	site := x.url.Site()
	switch {
	case state.Fetched == 0:
		return x.shut()
	case state.Kept == 0 && state.Status == 0:
		return x.unanswered(state.Reason, runLater)
	case state.Kept == 0:
		cause := fmt.Sprintf("robots.txt of %s answers %s, and no page may be fetched until it can be read", site, status(state.Status))
		return &Trouble{cause, runLater}
	}
	rules, err := x.Robots.Rules(site)
	if err != nil || rules.Allowed(x.url) {
		return x.shut()
	}
	if !rules.Allowed(site.Root()) {
		return &Trouble{"robots.txt of " + string(site) + " forbids all pages to this crawler", "ask its owner for access, or for a name to use as --user-agent"}
	}
	return &Trouble{"robots.txt of " + string(site) + " forbids " + x.url.RequestURI(), "ask its owner, or crawl what it allows"}
}

// redirected returns the trouble at the end of a redirect.
func (x *explainer) redirected(to weburl.URL) *Trouble {
	if x.hops == redirectsFollowed {
		return &Trouble{x.url.String() + " redirects in a circle", "open it in a browser, and crawl the address where you arrive"}
	}
	next := explainer{About: x.About, now: x.now, hops: x.hops + 1}
	target, err := next.explain(to.String())
	switch {
	case err != nil || target.StoppedBy == "":
		return nil
	case target.Trouble != nil:
		return target.Trouble
	case target.StoppedBy == "scope":
		return &Trouble{fmt.Sprintf("%s redirects to %s, which is out of scope", x.url, to), fmt.Sprintf("crawl %s, or widen --scope", to)}
	}
	return nil
}

// unanswered returns why a request got no answer, with the remedy for what may pass. failure is the text of
// fetch.Result.Err, "fetch: phase: outcome: …".
func (x *explainer) unanswered(failure, later string) *Trouble {
	host, words := x.url.Host(), strings.SplitN(failure, ": ", 4)
	if len(words) < 4 || words[0] != "fetch" {
		return &Trouble{"no answer from " + host, "see freshet explain " + x.url.String()}
	}
	detail := words[3]
	switch words[2] {
	case "refused-address":
		if x.Guard == nil { // the failure is an earlier run's: the page is requested again
			return nil
		}
		return &Trouble{barredBy(host, detail), "add --allow-private if you mean to crawl it"}
	case "dns-failed":
		if strings.HasSuffix(detail, "no address") {
			return &Trouble{host + " has no address (DNS)", "check its spelling"}
		}
		return &Trouble{"no name server knows an address of " + host, "check the network, or give --resolve " + host + "=ADDR:PORT"}
	case "connect-failed":
		if address, refused := strings.CutSuffix(detail, ": connect: connection refused"); refused {
			return &Trouble{"connection refused by " + strings.TrimPrefix(address, "dial tcp "), "is the server up, and the port right?"}
		}
		return &Trouble{"no connection to " + host + " (" + last(detail) + ")", "check the network"}
	case "tls-failed":
		if strings.HasSuffix(detail, "first record does not look like a TLS handshake") {
			return &Trouble{host + " does not speak TLS at this port", "try http://"}
		}
		return &Trouble{"no TLS connection with " + host + " (" + last(detail) + ")", "check the certificate, or try http://"}
	case "timed-out":
		return &Trouble{host + " did not answer in time", later}
	case "disconnected":
		return &Trouble{host + " closed the connection without an answer", "is it http:// or https://?"}
	case "malformed":
		return &Trouble{"what " + host + " answers is not HTTP", "is it http:// or https://, and the port right?"}
	case "header-too-large":
		return &Trouble{"the header of the answer from " + host + " is too large", ""}
	case "unwanted-type":
		return &Trouble{fmt.Sprintf("%s is of type %s, which the rules do not want", x.url, detail), "see its rule in the file that --scope names"}
	}
	return &Trouble{"no answer from " + host, "see freshet explain " + x.url.String()}
}

// barredBy returns why the address guard refuses a host, from its error "fetch: address 127.0.0.1 (loopback): …".
func barredBy(host, text string) string {
	_, text, _ = strings.Cut(text, "address ")
	address, kind, _ := strings.Cut(text, " (")
	kind, _, _ = strings.Cut(kind, ")")
	if address != host {
		host += " (" + address + ")"
	}
	if kind == "" {
		return host + " is not an address of the public internet"
	}
	return fmt.Sprintf("%s is a %s address", host, kind)
}

// statusTrouble returns the meaning of an answer without a page, with the remedy for what may pass.
func statusTrouble(u weburl.URL, code int, later string) *Trouble {
	cause := fmt.Sprintf("%s answers %s", u, status(code))
	switch code {
	case 404, 410:
		return &Trouble{cause, "check the address"}
	case 401, 407:
		return &Trouble{cause, "give credentials as a header in its rule, in the file that --scope names"}
	case 403:
		return &Trouble{cause, "it may not want crawlers: ask the owner of " + u.Host()}
	case 429, 503:
		return &Trouble{cause, later + ", with a longer --delay"}
	case 400:
		return &Trouble{cause, "is it http:// or https://?"}
	}
	if code >= 500 {
		return &Trouble{cause, later}
	}
	return &Trouble{cause, "check the address"}
}

// status returns a code, with its name if it is common.
func status(code int) string {
	names := map[int]string{400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 410: "Gone", 429: "Too Many Requests",
		500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, names[code]))
}

// last returns the part of an error after the last colon.
func last(text string) string { return strings.TrimSpace(text[strings.LastIndex(text, ": ")+1:]) }
