package extract

import (
	"strings"

	"freshet/consent"
)

// obey applies the directives of a robots meta element, or of X-Robots-Tag after its agent. It ignores unknown ones.
// No directive cancels another.
func (page *Page) obey(source, directives string) {
	page.Signals = page.Signals.With(source, consent.Directives, directives)
	for word := range consent.Words(directives) {
		switch word {
		case "noindex":
			page.NoIndex = true
		case "nofollow":
			page.NoFollow = true
		case "noarchive", "nocache":
			page.NoArchive = true
		case "none":
			page.NoIndex, page.NoFollow = true, true
		}
	}
}

// obeyHeader applies X-Robots-Tag values: directives for all agents, or after "agent:" for one. An agent holds for
// the rest of its value, or until the next agent: proxies join several fields.
func (page *Page) obeyHeader(values []string, agent string) {
	for _, value := range values {
		ours := true
		for part := range strings.SplitSeq(value, ",") {
			name, rest, named := strings.Cut(part, ":")
			if name = strings.TrimSpace(name); named && isAgent(name) {
				ours, part = strings.EqualFold(name, agent) || name == "*", rest
			}
			if ours {
				page.obey(consent.Header, part)
			}
		}
	}
}

// isAgent reports whether a name before a colon is that of an agent. Others are directives with a value, and parts of
// a time.
func isAgent(name string) bool { return !isDirective(name) && !strings.ContainsAny(name, " \t") }

// isDirective reports whether the name is a directive with a value after a colon.
func isDirective(name string) bool {
	name = strings.ToLower(name)
	return name == "unavailable_after" || strings.HasPrefix(name, "max-")
}

// refreshTarget returns the URL in the content of a refresh, as written, or "". By the HTML standard, the content is
// a number, a separator, an optional "url=", and the URL, possibly in quotes.
func refreshTarget(content string) string {
	rest := strings.TrimLeft(content, htmlSpace)
	after := strings.TrimLeft(rest, "0123456789.")
	if after == rest || after == "" || !strings.ContainsAny(after[:1], htmlSpace+";,") {
		return ""
	}
	ref := strings.TrimLeft(after, htmlSpace)
	if ref != "" && (ref[0] == ';' || ref[0] == ',') {
		ref = strings.TrimLeft(ref[1:], htmlSpace)
	}
	if len(ref) >= 3 && strings.EqualFold(ref[:3], "url") {
		if named := strings.TrimLeft(ref[3:], htmlSpace); strings.HasPrefix(named, "=") {
			ref = strings.TrimLeft(named[1:], htmlSpace)
		}
	}
	if ref != "" && (ref[0] == '"' || ref[0] == '\'') {
		ref, _, _ = strings.Cut(ref[1:], ref[:1])
	}
	return ref
}
