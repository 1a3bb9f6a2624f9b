package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// lookedThrough is how many rows are read at once for what was skipped.
const lookedThrough = 5000

// trouble shows failures and skipped pages, by reason.
func (s *server) trouble(*http.Request) (any, error) {
	n, err := readNow(s.reader)
	if err != nil {
		return nil, err
	}
	skipped, err := s.reader.Skipped("", samplesOfSkipped, lookedThrough)
	if err != nil {
		return nil, err
	}
	shown := struct {
		Running       bool
		Errors, Links []remedied
		Waiting       []remedied // pages that cannot be requested
		Pages         []skippedPages
		Looked, Known int64
		All           bool
	}{Running: n.running(), Looked: skipped.Looked, Known: n.Known, All: skipped.Looked < lookedThrough}
	for _, c := range most(n.Errors, 50) {
		shown.Errors = append(shown.Errors, remedied{c, reasonOf(c.Name).remedy})
	}
	if n.RobotsWaiting > 0 {
		name := "robots-unreachable"
		shown.Waiting = []remedied{{counted{Name: name, Count: n.RobotsWaiting}, reasonOf(name).remedy}}
	}
	for _, c := range most(n.Refused, 50) {
		shown.Links = append(shown.Links, remedied{c, reasonOf(c.Name).remedy})
	}
	slices.SortFunc(skipped.Pages, func(x, y SkippedPages) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Reason, y.Reason))
	})
	for _, p := range skipped.Pages {
		shown.Pages = append(shown.Pages, skippedPages{p, reasonOf(p.Reason).remedy})
	}
	return shown, nil
}

// remedied is a count of failures and a remedy.
type remedied struct {
	counted
	Remedy string
}

type skippedPages struct {
	SkippedPages
	Remedy string
}

// A reason has the words for a reason of the crawl, and a remedy.
type reason struct{ begins, title, remedy string }

// reasons are matched by prefix; the first match counts. If a title is empty, the reason itself is shown.
var reasons = []reason{
	{"scope", "outside the scope", "A wider --scope lets it in, and so does include in the rules."},
	{"excluded", "excluded by a rule", "A pattern of the rules excludes it. Take the pattern out to let it in."},
	{"opt-out", "opted out", "Its owner does not want to be crawled. Freshet obeys."},
	{"requisite", "needed only to show a page", "--requisites same-site or all lets it in."},
	{"depth", "too deep", "It is more links away from a seed than --max-depth allows."},
	{"site-full", "site is full", "Its site has as many pages as it may. Raise --pages-per-site, or pages in the rules."},
	{"url-length", "URL too long", "Nothing needs to be done: such URLs are mostly traps."},
	{"redirects", "too many redirects", "The site redirects in a circle, or too often. Open the page in a browser to see where it leads."},
	{"repeating-segments", "trap: path repeats itself", "Nothing needs to be done. Add the page as a seed if it is real."},
	{"calendar", "trap: endless calendar", "Nothing needs to be done. Add the page as a seed if it is real."},
	{"parameters", "trap: too many parameters", "Nothing needs to be done. Add the page as a seed if it is real."},
	{"path-segments", "trap: path too deep", "Nothing needs to be done. Add the page as a seed if it is real."},
	{"robots-unreachable", "robots.txt cannot be fetched", "Freshet asks for it again, less and less often, and makes no other request to the site until then. Check whether the site works in a browser."},
	{"robots", "forbidden by robots.txt", "Freshet obeys. Ask the owner of the site for access."},
	{"private-address", "private address", "If this is your own network, --allow-private permits it."},
	{"refused-address", "private address", "If this is your own network, --allow-private permits it."},
	{"content-type", "unwanted type of content", "fetch and store in the rules say what is wanted."},
	{"unwanted-type", "unwanted type of content", "fetch and store in the rules say what is wanted."},
	{"missing 410", "removed by the site (410)", "Nothing needs to be done."},
	{"missing", "no such page (404)", "Nothing needs to be done: the links to it are wrong."},
	{"gone", "no longer there", "Nothing needs to be done."},
	{"4xx", "refused, or no such page (4xx)", "Nothing needs to be done if these are single pages. If it is a whole site, it may not want crawlers."},
	{"5xx", "server error (5xx)", "Freshet asks again, up to --retries times, and later after freshet recrawl. If it lasts, tell the owner of the site."},
	{"error 401", "needs a password (401)", "Freshet does not sign in."},
	{"error 403", "refused by the site (403)", "The site may not want crawlers. Ask its owner."},
	{"error 429", "too many requests (429)", "Freshet waits longer by itself. A longer --delay avoids it."},
	{"error 4", "refused by the site", "The site refuses the request."},
	{"error 5", "server error", "The server has a fault. Freshet asks again, up to --retries times, and later after freshet recrawl."},
	{"error", "no usable answer", "The answer was broken off, or says nothing. Freshet asks again, up to --retries times."},
	{"dns-failed", "no address found (DNS)", "Check the spelling of the name, and whether the name server works."},
	{"connect-failed", "no connection", "Check whether the server is up, and whether a firewall is in the way."},
	{"disconnected", "connection broken", "The server ended the connection before its answer was complete. Freshet asks again, up to --retries times."},
	{"timed-out", "no answer in time", "The server is slow, or the network is full. Fewer --connections may help."},
	{"tls-failed", "no TLS connection", "Its certificate is not valid. Only the owner of the site can repair that."},
	{"malformed", "not HTTP", "The answer is not valid HTTP. Check the port."},
	{"header-too-large", "header too large", "The header of the answer is longer than any that is read."},
	{"unreached", "no answer ever came", "The view of the page says why."},
	{"crash", "could not be processed", "Please report it; the log has the details."},
	{"purged", "taken down by an operator", "Nothing needs to be done."},
	{"withdrawn", "no longer served", "Nothing needs to be done."},
}

// reasonOf finds a reason. It returns the zero reason for an unknown one.
func reasonOf(text string) reason {
	for _, r := range reasons {
		if strings.HasPrefix(text, r.begins) {
			return r
		}
	}
	return reason{}
}

// titleOf returns the words for a reason, with the status of an error.
func titleOf(text string) string {
	r := reasonOf(text)
	if status, more := strings.CutPrefix(text, "error "); more && strings.HasPrefix(r.begins, "error ") && !strings.Contains(r.title, status) {
		return fmt.Sprintf("%s (%s)", r.title, status)
	}
	return cmp.Or(r.title, text)
}
