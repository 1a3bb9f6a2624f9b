package consent

import (
	"fmt"
	"slices"
	"strings"
)

// Use is a use of a page.
type Use uint8

// The uses.
const (
	Search  Use = iota // to find the page, and show where it is
	AIInput            // to give it to a model, to answer from
	AITrain            // to train a model with it
)

// Uses returns all uses.
func Uses() []Use { return []Use{Search, AIInput, AITrain} }

var useNames = [...]string{"search", "ai-input", "ai-train"}

// String returns "search", "ai-input" or "ai-train".
func (u Use) String() string { return useNames[u] }

// ParseUse is the inverse of String.
func ParseUse(name string) (Use, error) {
	i := slices.Index(useNames[:], name)
	if i < 0 {
		return 0, fmt.Errorf("consent: use %q: want %s", name, strings.Join(useNames[:], ", "))
	}
	return Use(i), nil
}

// Verdict is what signals mean for a use.
type Verdict uint8

// The verdicts.
const (
	Unsaid Verdict = iota
	Allowed
	Disallowed
)

// String returns "unsaid", "allowed" or "disallowed".
func (v Verdict) String() string { return [...]string{"unsaid", "allowed", "disallowed"}[v] }

// The sources of signals.
const (
	Robots = "robots.txt"
	TDMRep = "tdmrep.json"
	Header = "header"
	Meta   = "meta"
	Link   = "link"
)

// The names of signals, in lower case.
const (
	ContentUsage   = "content-usage"
	ContentSignal  = "content-signal"
	TDMReservation = "tdm-reservation"
	TDMPolicy      = "tdm-policy"
	Directives     = "robots" // of a robots meta element or an X-Robots-Tag
	License        = "license"
)

// The limits on what is kept for one page. Anything beyond is left out.
const (
	MaxSignals = 16
	MaxValue   = 512 // bytes
)

// A Signal is one statement about the use of a page.
type Signal struct {
	Source string // one of the constants
	Name   string // one of the constants
	Value  string // as written, with white space folded, at most MaxValue bytes
}

// String returns the signal as a line: its source, its name, a colon, its value.
func (s Signal) String() string { return s.Source + " " + s.Name + ": " + s.Value }

// Signals are the statements about the use of one page.
type Signals []Signal

// With returns the signals and one more, unless it concerns no use or is already present. A robots directive such as
// nofollow concerns no use. Beyond the limits With leaves signals out, but never a refusal: it cuts a long value to the
// members that have a meaning, and replaces a signal that is not needed.
func (s Signals) With(source, name, value string) Signals {
	more := Signal{source, name, fold(value)}
	if len(more.Value) > MaxValue {
		more.Value = more.cut()
	}
	if more.Value == "" || name == Directives && !more.speaks() || slices.Contains(s, more) {
		return s
	}
	if len(s) < MaxSignals {
		return append(s, more)
	}
	for _, u := range Uses() {
		v := more.verdict(u)
		if v == Unsaid {
			continue
		}
		at := slices.IndexFunc(s, func(known Signal) bool { return known.verdict(u) >= v })
		switch {
		case at < 0:
			return s.replaced(more)
		case at > 0: // first, so that thousands of others like this one cost little
			s = slices.Insert(slices.Delete(slices.Clone(s), at, at+1), 0, s[at])
		}
	}
	return s
}

// replaced returns the signals with one more in place of one that is not needed.
func (s Signals) replaced(more Signal) Signals {
	all := append(slices.Clone(s), more)
	want := all.says()
	for i := range all { // three signals suffice for three uses
		if rest := slices.Delete(slices.Clone(all), i, i+1); rest.says() == want {
			return rest
		}
	}
	return s
}

// says returns the verdict on each use.
func (s Signals) says() (verdicts [len(useNames)]Verdict) {
	for _, u := range Uses() {
		verdicts[u] = s.Verdict(u)
	}
	return verdicts
}

// fold folds white space, and control characters with it.
func fold(value string) string {
	value = strings.ToValidUTF8(value, "\uFFFD")
	return strings.Join(strings.FieldsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0x85 || r == 0xa0 }), " ")
}

// cut shortens a value that is too long: to the parts that have a meaning for a use or, if there are none, to its
// beginning.
func (s Signal) cut() string {
	if gist := s.gist(); len(gist) > 0 {
		return strings.Join(gist, ", ")
	}
	return strings.TrimRight(strings.ToValidUTF8(s.Value[:MaxValue], ""), " ")
}

// String returns the signals as text, one per line.
func (s Signals) String() string {
	lines := s.Lines()
	return strings.Join(lines, "\n")
}

// Lines returns the signals, each as a line.
func (s Signals) Lines() []string {
	lines := make([]string, len(s))
	for i, signal := range s {
		lines[i] = signal.String()
	}
	return lines
}

// Of returns the signals for a page from its site's files and from its answer, both in the form that Parse reads.
func Of(site, page string) Signals { return append(Parse(site), Parse(page)...) }

// Parse is the inverse of String. It ignores lines that are not signals, and those beyond the limits.
func Parse(text string) (s Signals) {
	for line := range strings.Lines(text) {
		source, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		name, value, found := strings.Cut(rest, ": ")
		if found && slices.Contains([]string{Robots, TDMRep, Header, Meta, Link}, source) && known(name) {
			s = s.With(source, name, value)
		}
	}
	return s
}

// known reports whether name is the name of a signal.
func known(name string) bool {
	return slices.Contains([]string{ContentUsage, ContentSignal, TDMReservation, TDMPolicy, Directives, License}, name)
}

// Verdict returns what the signals mean for a use.
func (s Signals) Verdict(u Use) Verdict {
	strictest := Unsaid
	for _, signal := range s {
		strictest = max(strictest, signal.verdict(u))
	}
	return strictest
}

// Reserved reports whether one of the uses is disallowed.
func (s Signals) Reserved(uses []Use) bool {
	return slices.ContainsFunc(uses, func(u Use) bool { return s.Verdict(u) == Disallowed })
}

// Narrow returns known signals, with those of s that disallow a use which the known ones do not. Both texts have the
// form that Parse reads. It returns "" if s disallows nothing more.
func (s Signals) Narrow(known string) (narrower string) {
	all := Parse(known)
	for _, signal := range s {
		for _, u := range Uses() {
			if signal.verdict(u) == Disallowed && all.Verdict(u) != Disallowed {
				all = all.With(signal.Source, signal.Name, signal.Value)
				narrower = all.String()
			}
		}
	}
	return narrower
}

// Licenses returns the targets of links with rel=license.
func (s Signals) Licenses() (targets []string) {
	for _, signal := range s {
		if signal.Name == License {
			targets = append(targets, signal.Value)
		}
	}
	return targets
}
