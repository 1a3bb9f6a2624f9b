package fetch

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/weburl"
)

// MaxRobots is how many bytes of a robots.txt file are read; RFC 9309 section 2.5 asks for 500 KiB or
// more.
const MaxRobots = 512 << 10

// Robots is what a robots.txt file asks of crawlers, read as RFC 9309 says. It is immutable and safe
// for concurrent use; the zero value allows everything.
type Robots struct {
	groups   map[string]*group // by product token in lower case; "*" for all others
	sitemaps []string
}

// group is what a file says to one product token; groups that name the same token are merged.
type group struct {
	rules    []rule // longest pattern first, allow before disallow
	delay    time.Duration
	hasDelay bool
}

type rule struct {
	pattern pattern
	allow   bool
}

// ParseRobots reads the first MaxRobots bytes of a robots.txt file. Every input is some file: lines
// that say nothing it knows are passed over, so that a page of HTML allows everything. Lines end in
// CR, LF or both; a byte-order mark (its beginning too), missing colons and common misspellings are forgiven. It takes
// time in proportion to the body (and sorts the rules).
func ParseRobots(body []byte) *Robots {
	for _, mark := range []byte("\xef\xbb\xbf") {
		if len(body) == 0 || body[0] != mark {
			break
		}
		body = body[1:]
	}
	if len(body) > MaxRobots {
		body = body[:MaxRobots]
		if end := bytes.LastIndexAny(body, "\r\n"); end >= 0 {
			body = body[:end]
		}
	}
	p := robotsParser{groups: map[string]*group{}}
	for line := range strings.FieldsFuncSeq(string(body), func(c rune) bool { return c == '\r' || c == '\n' }) {
		p.line(line)
	}
	for _, g := range p.groups {
		slices.SortStableFunc(g.rules, func(a, b rule) int {
			if c := cmp.Compare(b.pattern.length, a.pattern.length); c != 0 || a.allow == b.allow {
				return c
			}
			if a.allow {
				return -1
			}
			return 1
		})
	}
	return &Robots{groups: p.groups, sitemaps: p.sitemaps}
}

// robotsParser holds the group that lines go to.
type robotsParser struct {
	groups   map[string]*group
	sitemaps []string
	open     []*group // named by the user-agent lines since the last rule before them
	ruled    bool     // a rule followed them: the next user-agent line opens another group
}

// line takes one line. Only rules end a run of user-agent lines: a Sitemap, a Crawl-delay or an
// unknown word between two of them does not. A Crawl-delay is for the agents named before it.
func (p *robotsParser) line(line string) {
	key, value := robotsField(line)
	switch key {
	case "user-agent":
		if p.ruled {
			p.open, p.ruled = p.open[:0], false
		}
		if token := robotsToken(value); token != "" {
			p.open = append(p.open, p.group(token))
		}
	case "allow", "disallow":
		p.ruled = true
		if value == "" {
			return
		}
		r := rule{newPattern(value), key == "allow"}
		for _, g := range p.open {
			g.rules = append(g.rules, r)
		}
	case "crawl-delay":
		if delay, ok := crawlDelay(value); ok {
			for _, g := range p.open {
				g.delay, g.hasDelay = delay, true
			}
		}
	case "sitemap":
		if value != "" {
			p.sitemaps = append(p.sitemaps, value)
		}
	}
}

// group returns the group of a token, the same one each time.
func (p *robotsParser) group(token string) *group {
	g := p.groups[token]
	if g == nil {
		g = &group{}
		p.groups[token] = g
	}
	return g
}

// robotsField splits a line into its key, spelled as the standard does, and its value. The key is ""
// for a line that says nothing.
func robotsField(line string) (key, value string) {
	line, _, _ = strings.Cut(line, "#")
	line = strings.Trim(line, " \t\x00")
	key, value, found := strings.Cut(line, ":")
	if !found {
		// "Disallow /path": two words and no colon.
		words := strings.Fields(line)
		if len(words) != 2 {
			return "", ""
		}
		key, value = words[0], words[1]
	}
	value = strings.Trim(value, " \t")
	switch strings.ToLower(strings.TrimSpace(key)) {
	case "user-agent", "useragent", "user agent":
		return "user-agent", value
	case "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw":
		return "disallow", value
	case "allow":
		return "allow", value
	case "crawl-delay", "crawldelay", "crawl delay":
		return "crawl-delay", value
	case "sitemap", "site-map":
		return "sitemap", value
	}
	return "", ""
}

// robotsToken returns what a User-agent line names: "*", or the product token at its start in lower
// case without a version, or "".
func robotsToken(value string) string {
	if value == "*" || strings.HasPrefix(value, "* ") || strings.HasPrefix(value, "*\t") {
		return "*"
	}
	end := strings.IndexFunc(value, func(c rune) bool {
		return c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
	if end < 0 {
		end = len(value)
	}
	return strings.ToLower(value[:end])
}

// crawlDelay reads a number of seconds, with a fraction if need be. What no Duration can hold is the
// longest one.
func crawlDelay(value string) (time.Duration, bool) {
	s, err := strconv.ParseFloat(value, 64)
	if math.IsNaN(s) || s < 0 || err != nil && !math.IsInf(s, 1) {
		return 0, false
	}
	if s >= float64(math.MaxInt64)/float64(time.Second) {
		return math.MaxInt64, true
	}
	return time.Duration(s * float64(time.Second)), true
}

// forAgent returns the group that binds agent: its own, else that of "*", else an empty one.
func (r *Robots) forAgent(agent string) *group {
	token, _, _ := strings.Cut(agent, "/")
	if g := r.groups[strings.ToLower(strings.TrimSpace(token))]; g != nil {
		return g
	}
	if g := r.groups["*"]; g != nil {
		return g
	}
	return &group{}
}

// Allowed tells whether agent (a product token; a "/" and what follows is ignored) may fetch u: the
// longest pattern that matches its path and query decides, Allow at equal length, and without any the
// page is allowed. /robots.txt itself always is. A match takes time in proportion to the pattern and
// the URL, however many stars it has.
func (r *Robots) Allowed(agent string, u weburl.URL) bool {
	path := u.RequestURI()
	if path == "/robots.txt" {
		return true
	}
	rules := r.forAgent(agent).rules
	if len(rules) == 0 {
		return true
	}
	target := normalise(path, false)
	for _, rule := range rules {
		if rule.pattern.match(target) {
			return rule.allow
		}
	}
	return true
}

// CrawlDelay returns the interval that the file asks agent to keep between requests, however long. ok
// is false where it asks for none.
func (r *Robots) CrawlDelay(agent string) (delay time.Duration, ok bool) {
	g := r.forAgent(agent)
	return g.delay, g.hasDelay
}

// Sitemaps returns the values of the file's Sitemap lines, in order and as they stand there.
func (r *Robots) Sitemaps() []string { return slices.Clone(r.sitemaps) }
