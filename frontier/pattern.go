package frontier

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"freshet/weburl"
)

// Pattern matches URLs. Its text has one of these forms:
//
//	example.org                  URLs of a host
//	.example.org                 URLs of a host and of all its subdomains
//	https://example.org:8443     URLs of a site
//	https://example.org/docs/    URLs with this prefix
//	(org,example,)/docs/         URLs whose SURT, without "www." and scheme, has this prefix
//	~/print\?|[?&]session=       URLs in which the regular expression (RE2) matches
//	*                            every URL
//
// A final dot of a host makes no difference. A SURT prefix that ends in a comma, "(org,example,", matches subdomains
// too. A * within other text is refused: it would stand for itself, and hardly any URL has one.
type Pattern struct {
	kind       patternKind
	text       string // canonical: a host, a site, a prefix
	expression *regexp.Regexp
}

type patternKind uint8

const (
	matchAll patternKind = iota
	matchHost
	matchBelow // a host and its subdomains
	matchSite
	matchPrefix
	matchSURT
	matchExpression
)

// maxPattern limits the text of a pattern, in bytes, as the user writes it and as String returns it.
const maxPattern = 2048

// ParsePattern parses a pattern.
func ParsePattern(text string) (p Pattern, err error) {
	if len(text) <= maxPattern {
		p, err = parsePattern(text)
	}
	if err == nil && p.kind != matchAll && p.kind != matchExpression && strings.Contains(p.text, "*") {
		return Pattern{}, fmt.Errorf("frontier: pattern %q: want no * in it: a URL's beginning matches without one, "+
			".DOMAIN matches subdomains, and ~ with a regular expression matches anything else", text)
	}
	if err == nil && max(len(text), len(p.String())) > maxPattern {
		return Pattern{}, fmt.Errorf("frontier: pattern %.20q…: want at most %d bytes, with all that must be escaped", text, maxPattern)
	}
	return p, err
}

func parsePattern(text string) (Pattern, error) {
	fail := func(want string) (Pattern, error) {
		return Pattern{}, fmt.Errorf("frontier: pattern %q: want %s", text, want)
	}
	switch expression, is := strings.CutPrefix(text, "~"); {
	case text == "*":
		return Pattern{kind: matchAll, text: text}, nil
	case is:
		re, err := regexp.Compile(expression)
		if err != nil {
			return fail("a regular expression after the ~: " + err.Error())
		}
		return Pattern{kind: matchExpression, text: expression, expression: re}, nil
	}
	if prefix, is := surtPrefix(text); is {
		if prefix == "" {
			return fail("a SURT prefix such as (org,example,")
		}
		return Pattern{kind: matchSURT, text: prefix}, nil
	}
	if strings.Contains(text, "://") {
		u, err := weburl.Parse(text)
		raw, rawErr := url.Parse(text)
		switch {
		case err != nil || rawErr != nil:
			return fail("http://HOST or https://HOST, with a path or without")
		case raw.Path == "" && raw.RawQuery == "":
			return Pattern{kind: matchSite, text: string(u.Site().Plain())}, nil
		}
		return Pattern{kind: matchPrefix, text: u.Plain().String()}, nil
	}
	name, below := strings.CutPrefix(text, ".")
	u, err := weburl.Parse("http://" + name + "/")
	// text after a newline, or in another script
	other := err == nil && !below && (u.Host() == "*" || strings.ContainsAny(u.Host()[:1], ".(~"))
	if err != nil || other || u.String() != "http://"+u.Host()+"/" || strings.ContainsAny(name, "/?#@") {
		return fail("*, HOST, .DOMAIN, a URL's beginning, a SURT prefix or ~ and a regular expression")
	}
	if below {
		return Pattern{kind: matchBelow, text: u.Site().Name()}, nil
	}
	return Pattern{kind: matchHost, text: u.Site().Name()}, nil
}

// surtPrefix returns a SURT prefix in the form of surtOf: "org,example,)/docs/". It accepts the forms of other
// crawlers, "http://(org,example,", and of CDXJ indexes, "(org,example)/docs/". is reports whether text is a SURT
// prefix.
func surtPrefix(text string) (prefix string, is bool) {
	_, rest, found := strings.Cut(text, "://")
	if !found {
		rest = text
	}
	rest, is = strings.CutPrefix(rest, "(")
	host, path, whole := strings.Cut(strings.ToLower(rest), ")")
	if whole {
		return strings.TrimSuffix(host, ",") + ",)" + path, is
	}
	return host, is
}

// surtOf returns the SURT of a URL with a comma after the last label, so that a prefix can end there.
func surtOf(u weburl.URL) string { return strings.Replace(u.SURT(), ")", ",)", 1) }

// String returns the pattern in a form that ParsePattern accepts.
func (p Pattern) String() string {
	switch p.kind {
	case matchBelow:
		return "." + p.text
	case matchSURT:
		return "(" + p.text
	case matchExpression:
		return "~" + p.text
	}
	return p.text
}

// Match reports whether the pattern matches u. O(length of the URL).
func (p Pattern) Match(u weburl.URL) bool {
	u = u.Plain()
	switch p.kind {
	case matchPrefix:
		return strings.HasPrefix(u.String(), p.text)
	case matchSURT:
		return strings.HasPrefix(surtOf(u), p.text)
	case matchExpression:
		return p.expression.MatchString(u.String())
	}
	return p.MatchSite(u.Site())
}

// NamesSites reports whether the pattern selects whole sites: it matches either every page of a site or none.
func (p Pattern) NamesSites() bool { return p.kind <= matchSite }

// MatchSite reports whether the pattern matches every page of a site.
func (p Pattern) MatchSite(site weburl.Site) bool {
	switch p.kind {
	case matchAll:
		return true
	case matchHost:
		return site.Name() == p.text
	case matchBelow:
		host := site.Name()
		return host == p.text || strings.HasSuffix(host, "."+p.text)
	case matchSite:
		return string(site.Plain()) == p.text
	}
	return false
}

// Patterns match a URL if one of them does. The zero value matches nothing. The cost of a match grows with the number
// of SURTs and expressions, but not with that of hosts, sites and prefixes.
type Patterns struct {
	hosts, below map[string]struct{}
	prefixes     map[weburl.Site][]string // "" for all of the site
	others       []Pattern                // SURTs, expressions, all
	n            int
	digest       uint64
}

// NewPatterns returns the set of the patterns in list.
func NewPatterns(list []Pattern) Patterns {
	p := Patterns{hosts: map[string]struct{}{}, below: map[string]struct{}{}, prefixes: map[weburl.Site][]string{}, n: len(list)}
	for _, one := range list {
		p.digest += digest(one.String())
		switch one.kind {
		case matchHost:
			p.hosts[one.text] = struct{}{}
		case matchBelow:
			p.below[one.text] = struct{}{}
		case matchSite:
			p.prefixes[weburl.Site(one.text)] = []string{""}
		case matchPrefix:
			site := one.site()
			p.prefixes[site] = append(p.prefixes[site], one.text)
		default:
			p.others = append(p.others, one)
		}
	}
	return p
}

// MatchSome reports whether one of the patterns may match a page of the site. It ignores regular expressions. O(SURTs).
func (p Patterns) MatchSome(site weburl.Site) bool {
	site = site.Plain()
	if _, ok := p.hosts[site.Name()]; ok || len(p.prefixes[site]) > 0 || p.matchBelow(site.Name()) {
		return true
	}
	for _, one := range p.others {
		if one.kind == matchSURT {
			root := surtOf(site.Root())
			if strings.HasPrefix(root, one.text) || strings.HasPrefix(one.text, root) {
				return true
			}
		} else if one.MatchSite(site) {
			return true
		}
	}
	return false
}

// site returns the site of a URL prefix.
func (p Pattern) site() weburl.Site {
	scheme, rest, _ := strings.Cut(p.text, "://")
	host, _, _ := strings.Cut(rest, "/")
	return weburl.Site(scheme + "://" + host)
}

// Digest returns a hash of the set of patterns. It does not depend on their order.
func (p Patterns) Digest() uint64 { return p.digest }

// Len returns the number of patterns.
func (p Patterns) Len() int { return p.n }

// Match reports whether one of the patterns matches u.
func (p Patterns) Match(u weburl.URL) bool {
	if p.n == 0 {
		return false
	}
	u = u.Plain()
	host := u.Host()
	if _, ok := p.hosts[host]; ok || p.matchBelow(host) {
		return true
	}
	for _, prefix := range p.prefixes[u.Site()] {
		if strings.HasPrefix(u.String(), prefix) {
			return true
		}
	}
	for _, one := range p.others {
		if one.Match(u) {
			return true
		}
	}
	return false
}

// matchBelow looks up a host, and then each of its parent domains.
func (p Patterns) matchBelow(host string) bool {
	for len(p.below) > 0 {
		if _, ok := p.below[host]; ok {
			return true
		}
		_, above, found := strings.Cut(host, ".")
		if !found {
			break
		}
		host = above
	}
	return false
}
