package fetch

import (
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Directives is what a page asks to be done with it.
type Directives struct {
	NoIndex   bool // not to be found by search
	NoFollow  bool // its links not to be followed
	NoArchive bool // its body not to be kept
}

// RobotsTag reads the X-Robots-Tag fields of a response that concern agent (a product token, case
// ignored): those for everybody and those that name it before a colon, together. A name holds to the
// end of its field or to the next name. Words it does not know, and those that take a value
// (unavailable_after, max-snippet …), are ignored.
func RobotsTag(header http.Header, agent string) Directives {
	agent, _, _ = strings.Cut(agent, "/")
	var d Directives
	for _, field := range header["X-Robots-Tag"] {
		concerned := true
		for word := range strings.SplitSeq(field, ",") {
			if name, rest, found := strings.Cut(word, ":"); found {
				name = strings.ToLower(strings.TrimSpace(name))
				if name == "unavailable_after" || strings.HasPrefix(name, "max-") || !httpguts.ValidHeaderFieldName(name) {
					continue
				}
				concerned = name == "*" || strings.EqualFold(name, strings.TrimSpace(agent))
				word = rest
			}
			if concerned {
				d.add(strings.ToLower(strings.TrimSpace(word)))
			}
		}
	}
	return d
}

// add takes one directive in lower case.
func (d *Directives) add(word string) {
	switch word {
	case "noindex":
		d.NoIndex = true
	case "nofollow":
		d.NoFollow = true
	case "none":
		d.NoIndex, d.NoFollow = true, true
	case "noarchive", "nocache":
		d.NoArchive = true
	}
}
