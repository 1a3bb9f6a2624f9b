package extract

import (
	"iter"
	"regexp"

	"freshet/weburl"
)

// maxSheet is how many bytes of a style sheet are looked through for references.
const maxSheet = 4 << 20

// sheetPart finds what matters in a style sheet: comments, names of namespaces and strings, in which nothing is a
// reference, and references, which one of the groups has.
var sheetPart = regexp.MustCompile(`(?is)/\*.*?(?:\*/|\z)|@namespace[^;{}]*|` +
	`url\(\s*(?:"([^"\\\n]*)"|'([^'\\\n]*)'|([^"'()\\\s]*))\s*\)|@import\s*(?:"([^"\\\n]*)"|'([^'\\\n]*)')|` +
	`"(?:[^"\\\n]|\\.)*|'(?:[^'\\\n]|\\.)*`)

// sheetReferences yields the references of a style sheet as they are written: those in url(…) and @import. Each is a
// part of the sheet. One that is written with escapes is left out, and so is all behind the first maxSheet bytes.
func sheetReferences(sheet []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		rest := sheet[:min(len(sheet), maxSheet)]
		for {
			match := sheetPart.FindSubmatchIndex(rest)
			if match == nil {
				return
			}
			for group := 2; group < len(match); group += 2 {
				if from, to := match[group], match[group+1]; from >= 0 && !yield(rest[from:to]) {
					return
				}
			}
			end := match[1]
			if c := rest[match[0]]; (c == '"' || c == '\'') && end < len(rest) && rest[end] == c {
				end++ // the string's own end
			}
			rest = rest[end:]
		}
	}
}

// sheet adds the references of a body that is a style sheet.
func (s *linkSet) sheet(sheet []byte) {
	for ref := range sheetReferences(sheet) {
		if len(ref) > 0 && !otherScheme(ref) {
			s.resolve(s.own, string(ref[:min(len(ref), maxReference+1)]), Link{Rel: weburl.RelEmbed})
		}
	}
}
