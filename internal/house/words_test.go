package house

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	columns        = 120 // of a line of prose or comment; a tab counts as tabWidth
	tabWidth       = 4
	paragraphWords = 120
)

// generated are pages that the program writes. Their words are held where they come from.
var generated = []string{"docs/commands.md", "docs/settings.md", "docs/metrics.md"}

// TestStyle holds the rules of docs/style.md on words, lines and paragraphs.
func TestStyle(t *testing.T) {
	report := func(name string, line int, finding string) {
		t.Errorf("%s:%d: %s", name, line, finding)
	}
	words := wordList(t)
	for _, s := range sources(t) {
		checkSource(t, s, words, report)
	}
	for _, name := range files(t) {
		switch {
		case slices.Contains(generated, name), name == "docs/style.md":
		case path.Ext(name) == ".md":
			checkPage(name, document(t, name), words, report)
		}
	}
}

// A vocabulary has the phrases not to write, and their replacements.
type vocabulary struct {
	not *regexp.Regexp // matches any of the phrases
	but map[string]string
}

// wordList reads the table of docs/style.md.
func wordList(t *testing.T) *vocabulary {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/style.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| not | but |\n| --- | --- |\n")
	but := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			break
		}
		for phrase := range strings.SplitSeq(strings.TrimSpace(cells[1]), ", ") {
			but[phrase] = strings.TrimSpace(cells[2])
		}
	}
	if len(but) < 20 {
		t.Fatalf("docs/style.md: %d phrases: want 20 or more", len(but))
	}
	phrases := strings.ReplaceAll(strings.Join(slices.Sorted(maps.Keys(but)), "|"), " ", `\s+`)
	return &vocabulary{regexp.MustCompile(`(?i)\b(?:` + phrases + `)\b`), but}
}

// checkSource reports words and long lines of a file's comments, and words of its texts unless it is a test.
func checkSource(t *testing.T, s *source, words *vocabulary, report func(string, int, string)) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, s.path))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, group := range s.Comments {
		first, last := s.fset.Position(group.Pos()).Line, s.fset.Position(group.End()).Line
		checkWords(s.path, first, group.Text(), words, report)
		for i := first; i <= last; i++ {
			if line := lines[i-1]; !strings.Contains(line, "//go:") && !strings.Contains(line, "//nolint") {
				checkColumns(s.path, i, line, report)
			}
		}
	}
	if s.test {
		return
	}
	ast.Inspect(s.File, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, _ := strconv.Unquote(literal.Value)
			if !strings.Contains(text, " ") { // a name, not a sentence
				return true
			}
			checkWords(s.path, s.fset.Position(literal.Pos()).Line, text, words, report)
		}
		return true
	})
}

// checkPage reports words, long lines and long paragraphs of a Markdown page without its blocks of code.
func checkPage(name, text string, words *vocabulary, report func(string, int, string)) {
	checkWords(name, 1, text, words, report)
	count, begin := 0, 1
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "|") || strings.HasPrefix(line, "    ") && count == 0 {
			continue
		}
		checkColumns(name, i+1, line, report)
		if trimmed == "" || trimmed[0] == '#' || listItem.MatchString(line) {
			count, begin = 0, i+1
		}
		before := count
		count += len(strings.Fields(line))
		if before <= paragraphWords && count > paragraphWords {
			report(name, begin, "a paragraph of more than "+strconv.Itoa(paragraphWords)+" words")
		}
	}
}

// longCode matches a command within a sentence, which stays on one line so that a test finds it.
var longCode = regexp.MustCompile("`[^`]{80,}`")

var listItem = regexp.MustCompile(`^\s*(?:[-*]|\d+\.) `)

// checkWords reports the phrases that the text should replace. The text begins at the line.
func checkWords(name string, line int, text string, words *vocabulary, report func(string, int, string)) {
	for _, found := range words.not.FindAllStringIndex(text, -1) {
		phrase := text[found[0]:found[1]]
		but := words.but[strings.ToLower(strings.Join(strings.Fields(phrase), " "))]
		report(name, line+strings.Count(text[:found[0]], "\n"), strconv.Quote(phrase)+": write "+strconv.Quote(but))
	}
}

// checkColumns reports a line that is too long and could be broken.
func checkColumns(name string, line int, text string, report func(string, int, string)) {
	if width(text) <= columns {
		return
	}
	if words := strings.Fields(text); len(words) <= 2 || longCode.MatchString(text) { // it cannot be broken
		return
	}
	report(name, line, strconv.Itoa(width(text))+" columns: want at most "+strconv.Itoa(columns))
}

// width returns the columns that a line takes.
func width(line string) int {
	return utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t")
}
