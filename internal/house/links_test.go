package house

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fence = regexp.MustCompile("(?ms)^```.*?^```")
	link  = regexp.MustCompile(`\]\(<?([^()\s>]+)>?(?: "[^"]*")?\)`)
	title = regexp.MustCompile(`(?m)^#+ +(.*?) *$`)
)

// TestLinks holds that every link of a document into the module leads to a file and, if it names one, to a heading.
func TestLinks(t *testing.T) {
	for _, name := range files(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, match := range link.FindAllStringSubmatch(document(t, name), -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			full := name
			if target != "" {
				full = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(filepath.Join(root, full)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, match[1])
				continue
			}
			if anchor != "" && path.Ext(full) == ".md" && !hasHeading(document(t, full), anchor) {
				t.Errorf("%s links to %s, which has no such heading", name, match[1])
			}
		}
	}
}

// document returns the text of a Markdown file with nothing in the lines of its code blocks.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return fence.ReplaceAllStringFunc(string(text), func(block string) string {
		return strings.Repeat("\n", strings.Count(block, "\n"))
	})
}

// hasHeading reports whether a heading of the text has that anchor: its letters, digits, hyphens and
// underscores in lower case with hyphens for spaces.
func hasHeading(text, anchor string) bool {
	for _, match := range title.FindAllStringSubmatch(text, -1) {
		got := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', 'a' <= r && r <= 'z', '0' <= r && r <= '9', r > 127:
				return r
			}
			return -1
		}, strings.ToLower(match[1]))
		if got == anchor {
			return true
		}
	}
	return false
}
