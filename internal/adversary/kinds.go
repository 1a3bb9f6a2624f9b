package adversary

import "slices"

// Kind is one way to harm a crawler.
type Kind struct {
	Name    string
	Attacks string // what it is after, in a line
	TLS     bool   // the host speaks TLS

	lookups bool // it lies when its name is looked up
	sockets bool // it writes what nobody reads yet, which only a socket takes
	setUp   func(h *Host)
}

// Kinds returns all kinds that are written by hand. The answers of the grammar are one more.
func Kinds() []Kind {
	return slices.Concat(robotsKinds, slowKinds, headerKinds, bodyKinds, markupKinds, trapKinds, feedKinds,
		redirectKinds, connectionKinds)
}

// pages makes a host whose paths answer as given, and all others with 404. Its seeds are the paths.
func pages(answers map[string]answer) func(h *Host) {
	return func(h *Host) {
		var paths []string
		for path := range answers {
			paths = append(paths, path)
		}
		slices.Sort(paths)
		h.begin(paths...)
		h.answers = func(x *exchange) bool {
			if a, ok := answers[x.path]; ok {
				return a(x)
			}
			return x.say(status(404))
		}
	}
}

// always makes a host whose every path answers alike. These are its seeds.
func always(a answer, paths ...string) func(h *Host) {
	return func(h *Host) {
		if len(paths) > 0 {
			h.begin(paths...)
		}
		h.answers = a
	}
}

// says answers with a text.
func says(text string) answer {
	return func(x *exchange) bool { return x.say(text) }
}

// hangsUp answers with a text and closes the connection.
func hangsUp(text string) answer {
	return func(x *exchange) bool {
		x.say(text)
		return false
	}
}

// withoutEnd never stops: a text, then another one over and over.
func withoutEnd(head, piece string) answer {
	return func(x *exchange) bool { return x.say(head) && x.endless(piece) }
}
