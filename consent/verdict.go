package consent

import (
	"iter"
	"slices"
	"strings"
)

// verdict returns what one signal means for a use.
func (s Signal) verdict(u Use) Verdict {
	switch s.Name {
	case ContentUsage:
		return s.usage(u)
	case ContentSignal:
		return stricter(s.said(u.String()), "yes", "no")
	case TDMReservation:
		return s.mining(u)
	case Directives:
		return s.directives(u)
	}
	return Unsaid
}

// usageLabels are the categories of the AIPREF vocabulary that belong to each use, including those of earlier drafts.
var usageLabels = [...][]string{
	Search:  {"search"},
	AIInput: {"ai-use", "ai-output"},
	AITrain: {"train-ai", "train-genai"},
}

// anyBot is the category of earlier drafts that includes all others. It applies to a use without a category of its own.
const anyBot = "bots"

func (s Signal) usage(u Use) Verdict {
	var values []string
	for _, label := range usageLabels[u] {
		values = append(values, s.said(label)...)
	}
	if v := stricter(values, "y", "n"); v != Unsaid {
		return v
	}
	return stricter(s.said(anyBot), "y", "n")
}

// stricter returns the strictest of the values.
func stricter(values []string, yes, no string) Verdict {
	switch {
	case slices.Contains(values, no):
		return Disallowed
	case slices.Contains(values, yes):
		return Allowed
	}
	return Unsaid
}

// said returns the values of a dictionary's members with a key, in lower case and without parameters. It ignores what
// is not a member, so that a fault in one member does not affect the others.
func (s Signal) said(key string) (values []string) {
	list := s.Value
	if s.Source == Robots && (strings.HasPrefix(list, "/") || strings.HasPrefix(list, "*")) {
		_, list, _ = strings.Cut(list, " ") // the path that it is for
	}
	for member := range strings.SplitSeq(list, ",") {
		name, value, found := strings.Cut(member, "=")
		value, _, _ = strings.Cut(value, ";")
		if found && strings.EqualFold(strings.TrimSpace(name), key) {
			values = append(values, strings.ToLower(strings.TrimSpace(value)))
		}
	}
	return values
}

// mining reads TDMRep: mining text and data means using it as input for models, and training them.
func (s Signal) mining(u Use) Verdict {
	switch {
	case u == Search:
		return Unsaid
	case s.Value == "1":
		return Disallowed
	case s.Value == "0":
		return Allowed
	}
	return Unsaid
}

// directives reads robots directives. noimageai concerns images only: it is kept, and has no effect on a text.
func (s Signal) directives(u Use) Verdict {
	for word := range s.words() {
		switch word {
		case "noindex", "none":
			if u == Search {
				return Disallowed
			}
		case "noai":
			if u != Search {
				return Disallowed
			}
		}
	}
	return Unsaid
}

// speaks reports whether a list of robots directives has one that concerns a use.
func (s Signal) speaks() bool { return len(s.gist()) > 0 }

// aboutUse are the directives that concern a use.
var aboutUse = []string{"noindex", "none", "noai", "noimageai"}

// gist returns the members of a list that have a meaning for a use, each once. Of two that contradict each other it
// returns the stricter one.
func (s Signal) gist() (members []string) {
	add := func(label, yes, no string) {
		switch stricter(s.said(label), yes, no) {
		case Allowed:
			members = append(members, label+"="+yes)
		case Disallowed:
			members = append(members, label+"="+no)
		}
	}
	switch s.Name {
	case ContentUsage:
		for _, labels := range usageLabels {
			for _, label := range labels {
				add(label, "y", "n")
			}
		}
		add(anyBot, "y", "n")
	case ContentSignal:
		for _, label := range useNames {
			add(label, "yes", "no")
		}
	case Directives:
		for word := range s.words() {
			if slices.Contains(aboutUse, word) && !slices.Contains(members, word) {
				members = append(members, word)
			}
		}
	}
	return members
}

// words are the directives of a list.
func (s Signal) words() iter.Seq[string] { return Words(s.Value) }

// Words yields the words of a list of robots directives, in lower case. It leaves out the none of
// "max-image-preview: none", which is a value and no directive.
func Words(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		before := ""
		for word := range strings.FieldsFuncSeq(strings.ToLower(list), isSeparator) {
			value := word == "none" && strings.HasPrefix(before, "max-") && strings.HasSuffix(before, ":")
			if !value && !yield(word) {
				return
			}
			before = word
		}
	}
}

func isSeparator(r rune) bool { return strings.ContainsRune(",; \t\n\r\f", r) }
