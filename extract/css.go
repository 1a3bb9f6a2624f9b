package extract

import (
	"bytes"
	"iter"
	"regexp"

	"freshet/weburl"
)

// maxSheet is how many bytes of a style sheet are searched for references.
const maxSheet = 4 << 20

// sheetPart matches the parts of a style sheet that matter. Comments, namespaces and strings contain no references. A
// reference is in one of the groups.
var sheetPart = regexp.MustCompile(`(?is)/\*.*?(?:\*/|\z)|@namespace[^;{}]*|` +
	`url\(\s*(?:"([^"\\\n]*)"|'([^'\\\n]*)'|([^"'()\\\s]*))\s*\)|@import\s*(?:"([^"\\\n]*)"|'([^'\\\n]*)')|` +
	`"(?:[^"\\\n]|\\.)*|'(?:[^'\\\n]|\\.)*`)

// sheetReferences yields the references of a style sheet as written: those in url(…) and @import. Each is a slice of
// sheet. It leaves out references with escapes, and everything after the first maxSheet bytes.
func sheetReferences(sheet []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		rest := sheet[:min(len(sheet), maxSheet)]
		if !bytes.ContainsAny(rest, "(@") { // as in most style attributes, and where there is none
			return
		}
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

// sheet adds the references of a style sheet.
func (s *linkSet) sheet(sheet []byte) {
	for ref := range sheetReferences(sheet) {
		if len(ref) > 0 && !otherScheme(ref) {
			s.resolve(s.own, string(ref[:min(len(ref), maxReference+1)]), Link{Rel: weburl.RelEmbed})
		}
	}
}
