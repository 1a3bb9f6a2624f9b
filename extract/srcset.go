package extract

import (
	"bytes"
	"iter"
)

// candidates yields the URLs of a srcset attribute as written, by the rules of the HTML standard. A URL ends at white
// space, or at commas before white space, so it may contain commas. Its descriptor follows, up to the next comma
// outside parentheses.
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

// htmlSpace is ASCII white space, as HTML defines it.
const htmlSpace = " \t\n\f\r"

// descriptorLength returns the length of the descriptors at the start of set, without the comma.
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
