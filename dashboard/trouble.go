package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// lookedThrough is how many rows of the page table are looked through for what was skipped. Rows lie in no order that
// means anything, so the first ones stand for all.
const lookedThrough = 5000

// trouble shows what failed and what was not fetched, by the reason.
func (s *server) trouble(*http.Request) (any, error) {
	n, err := readNow(s.reader)
	if err != nil {
		return nil, err
	}
	skipped, err := s.reader.Skipped(samplesOfSkipped, lookedThrough)
	if err != nil {
		return nil, err
	}
	shown := struct {
		Running       bool
		Errors, Links []remedied
		Pages         []skippedPages
		Looked, Known int64
		All           bool
		Bad           []counted
	}{Running: n.running(), Looked: skipped.Looked, Known: n.Known, All: skipped.Looked < lookedThrough}
	for _, c := range most(n.Errors, 50) {
		shown.Errors = append(shown.Errors, remedied{c, remedy(c.Name)})
	}
	for _, c := range most(n.Refused, 50) {
		shown.Links = append(shown.Links, remedied{c, remedy(c.Name)})
	}
	slices.SortFunc(skipped.Pages, func(x, y SkippedPages) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Reason, y.Reason))
	})
	for _, p := range skipped.Pages {
		shown.Pages = append(shown.Pages, skippedPages{p, remedy(p.Reason)})
	}
	return shown, nil
}

// remedied is a count of failures and what helps.
type remedied struct {
	counted
	Remedy string
}

type skippedPages struct {
	SkippedPages
	Remedy string
}

// remedies are what helps against a reason, by how the reason begins.
var remedies = []struct{ begins, text string }{
	{"scope", "It lies outside of the scope. A wider --scope, or include in the rules, lets it in."},
	{"excluded", "A pattern of the rules excludes it."},
	{"opt-out", "Its owner does not want to be crawled."},
	{"requisite", "Only a page needs it, and --requisites is none."},
	{"depth", "It lies deeper than --max-depth."},
	{"site-full", "Its site has as many pages as it may: --pages-per-site, or pages in the rules."},
	{"url-length", "Its URL is longer than any that is crawled."},
	{"redirects", "Redirects lead on and on."},
	{"repeating-segments", "It looks like a trap: its path goes in a circle."},
	{"calendar", "It looks like a trap: a calendar's page of a far year."},
	{"parameters", "It looks like a trap: its query has too many parameters."},
	{"path-segments", "It looks like a trap: its path has too many parts."},
	{"robots", "The site's robots.txt forbids it. Freshet obeys."},
	{"private-address", "Its address is private. --allow-private permits it."},
	{"refused-address", "Its address is private. --allow-private permits it."},
	{"content-type", "Its type of content is not wanted: fetch and store in the rules."},
	{"unwanted-type", "Its type of content is not wanted: fetch and store in the rules."},
	{"missing", "The site says that there is no such page. Nothing needs to be done."},
	{"gone", "The page has gone. Nothing needs to be done."},
	{"4xx", "The site refuses the request, or has no such page."},
	{"5xx", "The server has a fault. It is asked again, more and more seldom."},
	{"error 4", "The site refuses the request. It may want credentials, or no crawler."},
	{"error 5", "The server has a fault. It is asked again, more and more seldom."},
	{"dns-failed", "The name cannot be looked up. See whether it is right, and whether the name server works."},
	{"connect-failed", "No connection could be made. See whether the server runs, and whether a firewall is in the way."},
	{"disconnected", "The server ended the connection before its answer did."},
	{"timed-out", "No answer came in time. The server may be slow, or the line full: fewer --connections may help."},
	{"tls-failed", "The certificate is not valid."},
	{"malformed", "The answer is no HTTP."},
	{"header-too-large", "The head of the answer is longer than any that is read."},
	{"unreached", "No answer ever came. The page says why."},
	{"crash", "The page could not be processed. The log has the stack."},
	{"purged", "An operator took it down."},
}

// remedy says what helps against a reason; "" if nothing is known.
func remedy(reason string) string {
	for _, r := range remedies {
		if strings.HasPrefix(reason, r.begins) {
			return r.text
		}
	}
	return ""
}
