package broadcast

import (
	"fmt"
	"slices"
	"strings"

	"freshet/weburl"
)

// maxInterests bounds each list of an Interest.
const maxInterests = 10_000

// Interest describes the pages that a client wants: those that match any of its entries, or all if it has none.
type Interest struct {
	Sites   []string `json:"sites,omitempty"`   // such as https://example.org
	Domains []string `json:"domains,omitempty"` // registrable domains, such as example.org
	// URLs with * for any text, such as https://example.org/docs/*
	Patterns []string `json:"patterns,omitempty"`
}

// Validate returns an error if the interest is invalid, and makes its sites canonical.
func (i *Interest) Validate() error {
	if n := max(len(i.Sites), len(i.Domains), len(i.Patterns)); n > maxInterests {
		return fmt.Errorf("broadcast: interest: a list of %d: want at most %d", n, maxInterests)
	}
	for at, text := range i.Sites {
		u, err := weburl.Parse(text)
		if err != nil || u.RequestURI() != "/" {
			return fmt.Errorf("broadcast: interest: site %.200q: want one such as https://example.org", text)
		}
		i.Sites[at] = string(u.Site())
	}
	for _, text := range i.Domains {
		if text == "" || strings.ContainsAny(text, "/:* ") {
			return fmt.Errorf("broadcast: interest: domain %.200q: want one such as example.org", text)
		}
	}
	for _, text := range i.Patterns {
		if len(text) > 4096 || strings.Count(text, "*") > 16 || !strings.HasPrefix(text, "http") {
			return fmt.Errorf("broadcast: interest: pattern %.200q: want one such as https://example.org/docs/*, with at most 16 stars", text)
		}
	}
	return nil
}

// some returns at most three entries for people, and how many more there are.
func (i *Interest) some() (few []string, more int) {
	for _, list := range [][]string{i.Sites, i.Domains, i.Patterns} {
		for _, text := range list[:min(len(list), 3-len(few))] {
			few = append(few, strings.ToValidUTF8(text[:min(len(text), 200)], ""))
		}
	}
	return few, len(i.Sites) + len(i.Domains) + len(i.Patterns) - len(few)
}

// all reports whether every page is wanted.
func (i *Interest) all() bool { return len(i.Sites)+len(i.Domains)+len(i.Patterns) == 0 }

// site reports whether all pages of a site are wanted.
func (i *Interest) site(s weburl.Site) bool {
	return i.all() || slices.Contains(i.Sites, string(s)) || len(i.Domains) > 0 && slices.Contains(i.Domains, s.Domain())
}

// touches reports whether a pattern may match a page of a site.
func (i *Interest) touches(s weburl.Site) bool {
	return slices.ContainsFunc(i.Patterns, func(p string) bool {
		head, _, _ := strings.Cut(p, "*")
		return strings.HasPrefix(head, string(s)+"/") || strings.HasPrefix(string(s)+"/", head)
	})
}

// Wants reports whether a page is wanted.
func (i *Interest) Wants(u weburl.URL) bool {
	return i.site(u.Site()) || slices.ContainsFunc(i.Patterns, func(p string) bool { return matches(p, u.String()) })
}

// matches reports whether a pattern matches a text. O(len(pattern)·len(text)) at most.
func matches(pattern, text string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, head)
	for ok && star {
		var part string
		if part, rest, star = strings.Cut(rest, "*"); !star {
			return strings.HasSuffix(text, part)
		}
		_, text, ok = strings.Cut(text, part)
	}
	return ok
}
