package adversary

import "slices"

// Kind is one way to harm a crawler.
type Kind struct {
	Name    string
	Attacks string // what it attacks, in a line
	TLS     bool   // the host speaks TLS

	lookups bool // it attacks the look-up of its name
	sockets bool // it writes before anybody reads, so it needs a socket's buffer
	setUp   func(h *Host)
}

// Kinds returns all hand-written kinds. The grammar is one more.
func Kinds() []Kind {
	return slices.Concat(robotsKinds, slowKinds, headerKinds, bodyKinds, markupKinds, trapKinds, feedKinds,
		redirectKinds, connectionKinds)
}

// pages makes a host with the given answers by path. Other paths answer 404. The paths are its seeds.
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

// always makes a host with the same answer for every path. paths are its seeds.
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

// withoutEnd never ends: it sends head, then repeats piece.
func withoutEnd(head, piece string) answer {
	return func(x *exchange) bool { return x.say(head) && x.endless(piece) }
}
