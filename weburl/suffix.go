package weburl

import "golang.org/x/net/publicsuffix"

// Suffixes is a list of public suffixes.
type Suffixes struct {
	Version string            // unique to the list
	Domain  func(Site) string // the registrable domain of a site
}

// PublicSuffixes returns the list that the program carries, by which Site.Domain goes.
func PublicSuffixes() Suffixes { return Suffixes{publicsuffix.List.String(), Site.Domain} }
