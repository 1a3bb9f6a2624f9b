package dashboard

import (
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"freshet/extract"
)

const (
	maxCompared = 4 << 20 // first bytes of a version that are compared
	maxDiffed   = 2000    // lines that differ, of each version; beyond that all count as replaced
)

// textOf returns the lines that a reader of a version sees: the blocks of HTML, or the lines of other text. ok is
// false for anything else.
func textOf(kind string, body io.Reader) (lines []string, ok bool, err error) {
	media := extract.MediaType(kind)
	if !isHTML(media) && !strings.HasPrefix(media, "text/") && media != "application/json" && !strings.HasSuffix(media, "xml") {
		return nil, false, nil
	}
	decoded, err := charset.NewReader(io.LimitReader(body, maxCompared), kind)
	if err == io.EOF { // an empty body
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	if isHTML(media) {
		lines, err = visibleLines(decoded)
		return lines, true, err
	}
	text, err := io.ReadAll(decoded)
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n"), true, err
}

func isHTML(media string) bool { return media == "text/html" || media == "application/xhtml+xml" }

// inline are the elements that do not begin a line.
var inline = map[atom.Atom]bool{atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Cite: true, atom.Code: true,
	atom.Data: true, atom.Del: true, atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Img: true, atom.Ins: true, atom.Kbd: true,
	atom.Label: true, atom.Mark: true, atom.Q: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strong: true,
	atom.Sub: true, atom.Sup: true, atom.Time: true, atom.U: true, atom.Var: true, atom.Wbr: true}

// unseen are the elements whose text is not shown.
var unseen = map[atom.Atom]bool{atom.Script: true, atom.Style: true, atom.Template: true, atom.Noscript: true, atom.Iframe: true, atom.Svg: true}

// visibleLines returns the text of an HTML document, a line a block.
func visibleLines(in io.Reader) (lines []string, err error) {
	var line strings.Builder
	end := func() {
		if text := strings.Join(strings.Fields(line.String()), " "); text != "" {
			lines = append(lines, text)
		}
		line.Reset()
	}
	tokens := html.NewTokenizer(in)
	tokens.SetMaxBuf(maxCompared)
	var within atom.Atom // the unseen element that is open
	for {
		switch kind := tokens.Next(); kind {
		case html.ErrorToken:
			end()
			if err := tokens.Err(); err != io.EOF {
				return lines, err
			}
			return lines, nil
		case html.TextToken:
			if within == 0 {
				line.Write(tokens.Text())
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := tokens.TagName()
			tag := atom.Lookup(name)
			switch {
			case within != 0:
				if kind == html.EndTagToken && tag == within {
					within = 0
				}
			case kind == html.StartTagToken && unseen[tag]:
				within = tag
			case !inline[tag]:
				end()
			}
		}
	}
}

// A change is a line of the older version beside one of the newer. If one is missing, the other was added or
// removed.
type change struct {
	Old, New string
	Kind     string // "same", "changed", "gone", "added" or "left out"
}

// compare puts the lines of two versions side by side, by a longest common subsequence. O(n·m) in the lines that differ
// between the common beginning and end, of which there are at most maxDiffed each.
func compare(old, new []string) []change {
	var all []change
	head := 0
	for head < len(old) && head < len(new) && old[head] == new[head] {
		all = append(all, change{old[head], new[head], "same"})
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(new)-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	all = append(all, paired(align(old[head:len(old)-tail], new[head:len(new)-tail]))...)
	for i := range tail {
		all = append(all, change{old[len(old)-tail+i], new[len(new)-tail+i], "same"})
	}
	return all
}

// align returns the lines of both in order: shared, removed and added ones.
func align(old, new []string) (all []change) {
	if len(old) > maxDiffed || len(new) > maxDiffed {
		for _, line := range old {
			all = append(all, change{Old: line, Kind: "gone"})
		}
		for _, line := range new {
			all = append(all, change{New: line, Kind: "added"})
		}
		return all
	}
	width := len(new) + 1
	longest := make([]int32, (len(old)+1)*width) // longest common subsequence from a line of each on
	for i, o := range slices.Backward(old) {
		for j, n := range slices.Backward(new) {
			if o == n {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(old) || j < len(new) {
		switch {
		case i < len(old) && j < len(new) && old[i] == new[j]:
			all = append(all, change{old[i], new[j], "same"})
			i, j = i+1, j+1
		case j == len(new) || i < len(old) && longest[(i+1)*width+j] >= longest[i*width+j+1]:
			all = append(all, change{Old: old[i], Kind: "gone"})
			i++
		default:
			all = append(all, change{New: new[j], Kind: "added"})
			j++
		}
	}
	return all
}

// paired puts added lines beside the removed lines that they replace.
func paired(all []change) (some []change) {
	for i := 0; i < len(all); {
		gone := i
		for gone < len(all) && all[gone].Kind == "gone" {
			gone++
		}
		added := gone
		for added < len(all) && all[added].Kind == "added" {
			added++
		}
		if added == i {
			some = append(some, all[i])
			i++
			continue
		}
		for n := range max(gone-i, added-gone) {
			switch {
			case i+n < gone && gone+n < added:
				some = append(some, change{all[i+n].Old, all[gone+n].New, "changed"})
			case i+n < gone:
				some = append(some, all[i+n])
			default:
				some = append(some, all[gone+n])
			}
		}
		i = added
	}
	return some
}

// around keeps equal lines only near a change. "left out" replaces the others.
func around(all []change, lines int) (some []change) {
	near := make([]bool, len(all))
	for i, c := range all {
		if c.Kind == "same" {
			continue
		}
		for k := max(0, i-lines); k <= min(len(all)-1, i+lines); k++ {
			near[k] = true
		}
	}
	left := false
	for i, c := range all {
		if near[i] {
			some = append(some, c)
		} else if !left {
			some = append(some, change{Kind: "left out"})
		}
		left = !near[i]
	}
	return some
}

// longestLine is how many bytes are shown of a line, and beforeChange how many of these come before the first
// difference from the line beside it.
const (
	longestLine  = 2000
	beforeChange = 200
)

// cut leaves out what is far from the first difference in lines that are too long to show, and of a line that is the
// same shows the beginning.
func (c change) cut() change {
	if c.Kind == "same" {
		return change{short(c.Old), short(c.New), c.Kind}
	}
	first := 0
	for first < min(len(c.Old), len(c.New)) && c.Old[first] == c.New[first] {
		first++
	}
	from := max(0, first-beforeChange)
	return change{cutLine(c.Old, from), cutLine(c.New, from), c.Kind}
}

// cutLine returns the line if it is short, and else its part from a byte on.
func cutLine(line string, from int) string {
	if len(line) <= longestLine {
		return line
	}
	part := line[from:min(len(line), from+longestLine)]
	if from > 0 {
		part = "…" + part
	}
	if from+longestLine < len(line) {
		part += "…"
	}
	return strings.ToValidUTF8(part, "")
}
