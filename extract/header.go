package extract

import (
	"strings"

	"freshet/weburl"
)

// maxHeader is how many bytes of each Link header addHeader reads.
const maxHeader = 64 << 10

// addHeader adds the links of a page's Link headers (RFC 8288) in order, resolved against the page's URL. Their
// relation is RelCanonical or RelHeader. It returns the first canonical one. It leaves out links that name only a
// host to connect to, links of another page by their anchor, malformed links, and everything after the first 64 KiB
// of a value.
func (s *linkSet) addHeader(values []string, page weburl.URL) (canonical weburl.URL) {
	for _, value := range values {
		rest := value[:min(len(value), maxHeader)]
		for {
			var v linkValue
			var ok bool
			if v, rest, ok = nextLinkValue(rest); !ok {
				break
			}
			rel, follow := linkRel(v.rel, v.kind)
			if !follow || v.anchored && !samePage(page, v.anchor) {
				continue
			}
			if rel != weburl.RelCanonical {
				rel = weburl.RelHeader
			} else if canonical.IsZero() {
				canonical, _ = page.Parse(v.target)
			}
			s.resolve(page, v.target, Link{Rel: rel, NoFollow: hasToken([]byte(v.rel), "nofollow")})
		}
	}
	return canonical
}

// samePage reports whether the anchor parameter of a link refers to the page itself.
func samePage(page weburl.URL, anchor string) bool {
	u, err := page.Parse(anchor)
	return err == nil && u == page
}

// linkValue is one link of a Link header.
type linkValue struct {
	target, rel, kind string
	anchor            string
	anchored          bool // has an anchor, which may be empty
}

// nextLinkValue returns the first link of a header's value and the rest. ok is false at the end.
func nextLinkValue(s string) (v linkValue, rest string, ok bool) {
	_, s, ok = strings.Cut(s, "<")
	if !ok {
		return v, "", false
	}
	v.target, s, ok = strings.Cut(s, ">")
	if !ok {
		return v, "", false
	}
	v.target = strings.TrimSpace(v.target)
	hasRel := false
	for {
		s = strings.TrimLeft(s, " \t")
		if !strings.HasPrefix(s, ";") {
			return v, s, true
		}
		var name, value string
		name, value, s = nextParameter(strings.TrimLeft(s[1:], " \t;"))
		switch name {
		case "rel":
			if !hasRel {
				v.rel, hasRel = value, true
			}
		case "type":
			v.kind = value
		case "anchor":
			v.anchor, v.anchored = value, true
		}
	}
}

// nextParameter returns a parameter's lower-case name, its unquoted value, and the rest.
func nextParameter(s string) (name, value, rest string) {
	end := strings.IndexAny(s, "=;, \t")
	if end < 0 {
		return strings.ToLower(s), "", ""
	}
	name, s = strings.ToLower(s[:end]), strings.TrimLeft(s[end:], " \t")
	if !strings.HasPrefix(s, "=") {
		return name, "", s
	}
	s = strings.TrimLeft(s[1:], " \t")
	if strings.HasPrefix(s, `"`) {
		value, rest = unquote(s[1:])
		return name, value, rest
	}
	if end = strings.IndexAny(s, ";, \t"); end < 0 {
		end = len(s)
	}
	return name, s[:end], s[end:]
}

// unquote returns the text up to the closing quote, without escapes, and the rest.
func unquote(s string) (text, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
