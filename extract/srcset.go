package extract

import (
	"bytes"
	"iter"
)

// candidates yields the URLs of a srcset attribute as they are written, by the rules of the HTML
// standard: a URL ends at white space, or at the commas before white space, so it may hold commas;
// what follows up to the next comma outside parentheses is its descriptor.
func candidates(set []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			set = bytes.TrimLeft(set, htmlSpace+",")
			if len(set) == 0 {
				return
			}
			end := bytes.IndexAny(set, htmlSpace)
			if end < 0 {
				end = len(set)
			}
			ref := set[:end]
			set = set[end:]
			if bare := bytes.TrimRight(ref, ","); len(bare) < len(ref) {
				ref = bare
			} else {
				set = set[descriptorLength(set):]
			}
			if !yield(ref) {
				return
			}
		}
	}
}

// htmlSpace is what HTML calls ASCII white space.
const htmlSpace = " \t\n\f\r"

// descriptorLength returns the length of the descriptors that set begins with, their comma
// excluded.
func descriptorLength(set []byte) int {
	inParentheses := false
	for i, c := range set {
		switch {
		case c == '(':
			inParentheses = true
		case c == ')':
			inParentheses = false
		case c == ',' && !inParentheses:
			return i
		}
	}
	return len(set)
}
