package frontier

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"freshet/weburl"
)

// Pattern names URLs as an operator writes them down:
//
//   - every URL
//     example.org                  those of a host
//     .example.org                 those of a host and of all hosts below it
//     https://example.org:8443     those of a site
//     https://example.org/docs/    those that begin so
//     (org,example,)/docs/         those whose SURT begins so, "www." and scheme aside
//     ~/print\?|[?&]session=       those in which the regular expression (RE2) is found
//
// A final dot of a host makes no difference. A SURT prefix that ends in a comma, "(org,example,", matches the hosts
// below too.
type Pattern struct {
	kind       patternKind
	text       string // canonical: a host, a site, a prefix
	expression *regexp.Regexp
}

type patternKind uint8

const (
	matchAll patternKind = iota
	matchHost
	matchBelow // a host and the hosts below it
	matchSite
	matchPrefix
	matchSURT
	matchExpression
)

// maxPattern bounds the text of a pattern, in bytes, as it is written and as it prints.
const maxPattern = 2048

// ParsePattern reads a pattern.
func ParsePattern(text string) (p Pattern, err error) {
	if len(text) <= maxPattern {
		p, err = parsePattern(text)
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

// surtPrefix returns a SURT prefix as surtOf spells it: "org,example,)/docs/". It takes the forms of
// other crawlers, "http://(org,example,", and of CDXJ indexes, "(org,example)/docs/".
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

// surtOf returns the SURT of a URL with a comma behind the last label, so that a prefix can end there.
func surtOf(u weburl.URL) string { return strings.Replace(u.SURT(), ")", ",)", 1) }

// String returns the pattern as ParsePattern reads it.
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

// Match reports whether u is one of the URLs. O(length of the URL).
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

// NamesSites reports whether the pattern matches all of a site or none of it.
func (p Pattern) NamesSites() bool { return p.kind <= matchSite }

// MatchSite reports whether the pattern matches all of a site.
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

// Patterns match a URL if one of them does. The zero value matches nothing. The cost of a match does not depend on
// the number of hosts, sites and prefixes, and grows with that of SURTs and expressions.
type Patterns struct {
	hosts, below map[string]struct{}
	prefixes     map[weburl.Site][]string // "" for all of the site
	others       []Pattern                // SURTs, expressions, all
	n            int
	digest       uint64
}

// NewPatterns gathers patterns.
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

// MatchSome reports whether one of the patterns matches a page of the site, as far as it names sites: an expression
// does not. O(SURTs).
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

// site returns the site of a prefix.
func (p Pattern) site() weburl.Site {
	scheme, rest, _ := strings.Cut(p.text, "://")
	host, _, _ := strings.Cut(rest, "/")
	return weburl.Site(scheme + "://" + host)
}

// Digest returns a number that differs between lists of different patterns, whatever their order.
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

// matchBelow looks up a host, and then each domain above it.
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
