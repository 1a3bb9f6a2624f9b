package robots

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/zeebo/xxh3"

	"freshet/consent"
	"freshet/weburl"
)

// MaxBytes is how many bytes of a robots.txt file are read; RFC 9309 section 2.5 requires 500 KiB or more.
const MaxBytes = 512 << 10

// Rules are what a robots.txt file says to one crawler, by RFC 9309. They are immutable and safe for concurrent
// use. The zero value allows everything.
type Rules struct {
	text     string // holds the normalised patterns and the values of usage lines
	rules    []rule // longest pattern first, allow before disallow
	usages   []usage
	delay    time.Duration
	hasDelay bool
}

// rule is a pattern, text[from:to], and whether it allows.
type rule struct {
	from, to uint32
	allow    bool
	ended    bool // the pattern ended in $
}

// usage is a line about the use of the pages that a pattern matches.
type usage struct {
	rule
	signal bool   // Content-Signal; else Content-Usage
	end    uint32 // of the line's value, as written: text[to+1:end]
}

func (u usage) name() string {
	if u.signal {
		return consent.ContentSignal
	}
	return consent.ContentUsage
}

func (r rule) length() int {
	n := int(r.to - r.from)
	if r.ended {
		n++
	}
	return n
}

// Parse reads what the first MaxBytes bytes of a robots.txt file say to agent, a product token; a "/" and what
// follows is ignored. It takes the groups that name the agent, or else those of "*". Every input is valid: unknown
// lines are skipped, so a page of HTML allows everything. Lines end in CR, LF or both. A byte-order mark (or the
// beginning of one), missing colons and common misspellings are accepted. Time and memory are proportional to the
// body, plus sorting the rules. Groups of other crawlers are not kept.
func Parse(body []byte, agent string) *Rules {
	token, _, _ := strings.Cut(agent, "/")
	body = clip(body)
	p := parser{agent: strings.ToLower(strings.TrimSpace(token)), size: normalisedBound(body)}
	for line := range lines(body) {
		p.line(line)
	}
	if p.named {
		return p.own.rules()
	}
	return p.all.rules()
}

// maxSitemaps bounds the sitemaps that are read from one robots.txt.
const maxSitemaps = 10_000

// Sitemaps returns the values of the first 10,000 Sitemap lines of a robots.txt file, in order and as written.
func Sitemaps(body []byte) []string {
	var found []string
	for line := range lines(clip(body)) {
		if key, value := field(line); key == "sitemap" && len(value) > 0 && len(found) < maxSitemaps {
			found = append(found, string(value))
		}
	}
	return found
}

// clip returns the part of a file that is read.
func clip(body []byte) []byte {
	for _, mark := range []byte("\xef\xbb\xbf") {
		if len(body) == 0 || body[0] != mark {
			break
		}
		body = body[1:]
	}
	if len(body) > MaxBytes {
		body = body[:MaxBytes]
		if end := bytes.LastIndexAny(body, "\r\n"); end >= 0 {
			body = body[:end]
		}
	}
	return body
}

// lines iterates over the lines of a file that are not empty.
func lines(body []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		start := 0
		for i, c := range body {
			if c != '\r' && c != '\n' {
				continue
			}
			if start < i && !yield(body[start:i]) {
				return
			}
			start = i + 1
		}
		if start < len(body) {
			yield(body[start:])
		}
	}
}

// normalisedBound returns the most bytes that a normalised file can have.
func normalisedBound(body []byte) int {
	n := len(body)
	for _, c := range body {
		if encoded(c) && c != '\n' && c != '\r' && c != ' ' && c != '\t' {
			n += 2
		}
	}
	return n
}

// parser reads the lines of a file for one agent.
type parser struct {
	agent    string
	size     int // bounds the bytes of a group's patterns
	own, all group
	ownOpen  bool // the current run of user-agent lines names the agent
	allOpen  bool
	named    bool // a group names the agent
	ruled    bool // a rule followed the user-agent lines: the next user-agent line opens another group
}

// group is what a file says to one agent. Groups that name the same agent are merged.
type group struct {
	text     []byte // for each rule a byte of marks, the pattern, a line end; a usage adds its value and a line end
	count    int    // of rules
	usages   int
	delay    time.Duration
	hasDelay bool
}

// marks of a rule in a group's text.
const (
	allowMark = 1 << iota
	endMark
	usageMark
	signalMark // of a usage
)

// line reads one line. Only rules end a run of user-agent lines; a Sitemap, a Crawl-delay or an unknown word
// between two of them does not. A Crawl-delay applies to the agents named before it. Content-Usage and
// Content-Signal are rules.
func (p *parser) line(line []byte) {
	key, value := field(line)
	switch key {
	case "user-agent":
		if p.ruled {
			p.ownOpen, p.allOpen, p.ruled = false, false, false
		}
		switch {
		case isStar(value):
			p.allOpen = true
		case p.agent != "" && p.agent == strings.ToLower(string(productToken(value, len(p.agent)+1))):
			p.ownOpen, p.named = true, true
			p.all = group{}
		}
	case "allow", "disallow":
		p.ruled = true
		if g := p.open(); g != nil && len(value) > 0 {
			g.add(value, key == "allow", p.size)
		}
	case consent.ContentUsage, consent.ContentSignal:
		p.ruled = true
		if g := p.open(); g != nil && len(value) > 0 {
			g.addUsage(value, key == consent.ContentSignal, p.size)
		}
	case "crawl-delay":
		if delay, ok := crawlDelay(value); ok {
			if g := p.open(); g != nil {
				g.delay, g.hasDelay = delay, true
			}
		}
	}
}

// open returns the group that a rule belongs to, nil if the rule is for other agents. Once a group names the agent,
// the groups of "*" no longer matter.
func (p *parser) open() *group {
	switch {
	case p.ownOpen:
		return &p.own
	case p.allOpen && !p.named:
		return &p.all
	}
	return nil
}

// add appends a rule. One that starts with neither a slash nor a star matches no URL.
func (g *group) add(value []byte, allow bool, size int) {
	marks := byte(0)
	if allow {
		marks |= allowMark
	}
	g.pattern(value, marks, size)
	g.count++
}

// addUsage appends a line about use: an optional pattern and white space, then the value.
func (g *group) addUsage(value []byte, signal bool, size int) {
	marks := byte(usageMark)
	if signal {
		marks |= signalMark
	}
	pattern := []byte("/")
	if value[0] == '/' || value[0] == '*' {
		if end := bytes.IndexAny(value, " \t"); end >= 0 {
			pattern = value[:end]
		} else {
			return // a path without a value
		}
	}
	g.pattern(pattern, marks, size)
	g.text = append(append(g.text, value...), '\n')
	g.usages++
}

// pattern appends the marks of a rule, and its pattern.
func (g *group) pattern(value []byte, marks byte, size int) {
	if g.text == nil {
		g.text = make([]byte, 0, size)
	}
	value, ended := bytes.CutSuffix(value, []byte("$"))
	if ended {
		marks |= endMark
	}
	g.text = append(g.text, marks)
	g.text = normalise(g.text, value, true)
	g.text = append(g.text, '\n')
}

// rules returns the rules of the group, without spare memory.
func (g *group) rules() *Rules {
	r := &Rules{text: string(g.text), rules: make([]rule, 0, g.count), delay: g.delay, hasDelay: g.hasDelay}
	if g.usages > 0 {
		r.usages = make([]usage, 0, g.usages)
	}
	for from := 0; from < len(r.text); {
		marks := r.text[from]
		end := from + 1 + strings.IndexByte(r.text[from+1:], '\n')
		read := rule{uint32(from + 1), uint32(end), marks&allowMark != 0, marks&endMark != 0}
		if marks&usageMark != 0 {
			end += 1 + strings.IndexByte(r.text[end+1:], '\n')
			r.usages = append(r.usages, usage{read, marks&signalMark != 0, uint32(end)})
		} else {
			r.rules = append(r.rules, read)
		}
		from = end + 1
	}
	slices.SortFunc(r.rules, func(a, b rule) int {
		if c := cmp.Compare(b.length(), a.length()); c != 0 || a.allow == b.allow {
			return c
		}
		if a.allow {
			return -1
		}
		return 1
	})
	return r
}

// maxKey bounds the words before a colon that are compared with keys.
const maxKey = 16

// field splits a line into its key, in the standard's spelling, and its value. The key is "" for a line without
// meaning.
func field(line []byte) (key string, value []byte) {
	if comment := bytes.IndexByte(line, '#'); comment >= 0 {
		line = line[:comment]
	}
	line = bytes.Trim(line, " \t\x00")
	name, value, found := bytes.Cut(line, []byte(":"))
	if !found {
		// "Disallow /path": two words and no colon.
		space := bytes.IndexAny(line, " \t")
		if space < 0 {
			return "", nil
		}
		name, value = line[:space], bytes.Trim(line[space:], " \t")
		if bytes.ContainsAny(value, " \t") {
			return "", nil
		}
	}
	name, value = bytes.TrimSpace(name), bytes.Trim(value, " \t")
	if len(name) > maxKey {
		return "", nil
	}
	switch strings.ToLower(string(name)) {
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
	case consent.ContentUsage:
		return consent.ContentUsage, value
	case consent.ContentSignal:
		return consent.ContentSignal, value
	}
	return "", nil
}

// isStar reports whether a User-agent line names all crawlers.
func isStar(value []byte) bool {
	return len(value) > 0 && value[0] == '*' && (len(value) == 1 || value[1] == ' ' || value[1] == '\t')
}

// productToken returns the product token at the start of a value, without a version. A token longer than most bytes
// may be cut there.
func productToken(value []byte, most int) []byte {
	for i, c := range value {
		isToken := c == '-' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		if !isToken || i == most {
			return value[:i]
		}
	}
	return value
}

// maxNumber bounds the characters of a number of seconds.
const maxNumber = 64

// crawlDelay reads a number of seconds, which may have a fraction. A number too large for a Duration becomes the
// longest one.
func crawlDelay(value []byte) (time.Duration, bool) {
	if len(value) > maxNumber {
		return 0, false
	}
	s, err := strconv.ParseFloat(string(value), 64)
	if math.IsNaN(s) || s < 0 || err != nil && !math.IsInf(s, 1) {
		return 0, false
	}
	if s >= float64(math.MaxInt64)/float64(time.Second) {
		return math.MaxInt64, true
	}
	return time.Duration(s * float64(time.Second)), true
}

// maxSearch bounds the bytes that are searched for parts between stars to decide one URL: the number of rules with
// stars times the length of the URL. A file of 4,000 such rules and a URL of 2 KB stay within it.
const maxSearch = 8 << 20

// Allowed reports whether the crawler may fetch u. The longest pattern that matches its path and query decides; at
// equal length Allow wins. If no pattern matches, the page is allowed. /robots.txt itself is always allowed. Each
// pattern without stars is compared once. Patterns with stars may search 8 MiB in all; if they would need more, the
// URL is not allowed.
func (r *Rules) Allowed(u weburl.URL) bool {
	path := u.RequestURI()
	if path == "/robots.txt" || len(r.rules) == 0 {
		return true
	}
	target := targetOf(path)
	searched := 0
	for _, rule := range r.rules {
		pattern := r.text[rule.from:rule.to]
		if strings.IndexByte(pattern, '*') >= 0 {
			if searched += len(target); searched > maxSearch {
				return false
			}
		}
		if match(pattern, rule.ended, target) {
			return rule.allow
		}
	}
	return true
}

// targetOf returns the path and query of a URL as patterns are compared with them.
func targetOf(path string) string {
	if strings.ContainsFunc(path, func(c rune) bool { return c == '%' || c == '*' || c == '$' || c <= ' ' || c >= 0x7f }) {
		return string(normalise(make([]byte, 0, len(path)+8), path, false))
	}
	return path
}

// Signals returns what the file says about the use of u. It takes the Content-Usage lines with the longest pattern
// that matches, and the same of the Content-Signal lines. Lines with equal patterns all count. A pattern without a
// star is compared once. If the patterns with stars would need to search more than 8 MiB, they count as matching.
func (r *Rules) Signals(u weburl.URL) (said consent.Signals) {
	if len(r.usages) == 0 {
		return nil
	}
	target := targetOf(u.RequestURI())
	searched := 0
	for _, signal := range []bool{false, true} {
		longest := -1
		var found consent.Signals
		for _, line := range r.usages {
			if line.signal != signal || line.length() < longest {
				continue
			}
			pattern := r.text[line.from:line.to]
			if strings.IndexByte(pattern, '*') >= 0 {
				searched += len(target)
			}
			if searched <= maxSearch && !match(pattern, line.ended, target) {
				continue
			}
			if line.length() > longest {
				longest, found = line.length(), nil
			}
			found = found.With(consent.Robots, line.name(), r.text[line.to+1:line.end])
		}
		said = append(said, found...)
	}
	return said
}

// CrawlDelay returns the interval between requests that the file asks for, however long. ok is false if it asks for
// none.
func (r *Rules) CrawlDelay() (delay time.Duration, ok bool) { return r.delay, r.hasDelay }

// Bytes returns how much memory the rules take.
func (r *Rules) Bytes() int64 {
	return int64(len(r.text)) + int64(cap(r.rules))*int64(unsafe.Sizeof(rule{})) + int64(cap(r.usages))*int64(unsafe.Sizeof(usage{})) +
		int64(unsafe.Sizeof(*r))
}

// Digest returns a hash of what the rules allow, never 0.
func (r *Rules) Digest() uint64 {
	var h xxh3.Hasher
	for _, rule := range r.rules {
		marks := []byte{'\n', 0}
		if rule.allow {
			marks[1] |= allowMark
		}
		if rule.ended {
			marks[1] |= endMark
		}
		_, _ = h.Write(marks)
		_, _ = h.WriteString(r.text[rule.from:rule.to])
	}
	return max(1, h.Sum64())
}
