package trial

import (
	"fmt"
	"maps"
	"slices"
)

// Shrink takes sites, pages, faults and settings out of a case that fails, one after the other, as long as it goes on
// failing by the same check. It returns what it took out, as Without has it, and what is left.
func Shrink(c Case, o Options, failed Result) (labels []string, small Case, result Result) {
	o.Trace = nil
	small, result = c, failed
	try := func(label string) bool {
		next, err := small.Without(label)
		if err != nil {
			return false
		}
		r := Run(next, o)
		if r.Failure == nil || r.Failure.Check != failed.Failure.Check {
			return false
		}
		labels, small, result = append(labels, label), next, r
		return true
	}
	for again := true; again; {
		again = false
		for _, label := range small.parts() {
			again = try(label) || again
		}
	}
	for again := true; again; {
		most := 0
		for _, s := range small.Sites {
			most = max(most, s.Pages)
		}
		again = most > 1 && (try(fmt.Sprintf("pages=%d", (most+1)/2)) || try(fmt.Sprintf("pages=%d", most-1)))
	}
	for _, setting := range slices.Sorted(maps.Keys(plain)) {
		try(setting)
	}
	return labels, small, result
}

// parts returns the labels of all faults and sites.
func (c *Case) parts() (labels []string) {
	for _, f := range c.Faults {
		labels = append(labels, f.Label)
	}
	for _, s := range c.Sites {
		labels = append(labels, s.Label)
	}
	return labels
}
