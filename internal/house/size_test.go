package house

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// How long the pages of docs may be together, in bytes, without those that the program writes. Whoever adds a sentence
// cuts another.
const (
	docsBytes  = 150_000 // without the notes
	notesBytes = 46_000
)

// TestDocsStayShort holds that the docs can be read.
func TestDocsStayShort(t *testing.T) {
	var docs, notes int64
	for _, name := range files(t) {
		if path.Ext(name) != ".md" || !strings.HasPrefix(name, "docs/") || slices.Contains(generated, name) {
			continue
		}
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "docs/notes/") {
			notes += info.Size()
		} else {
			docs += info.Size()
		}
	}
	if docs > docsBytes {
		t.Errorf("docs: %d bytes without notes and generated pages: want at most %d", docs, docsBytes)
	}
	if notes > notesBytes {
		t.Errorf("docs/notes: %d bytes: want at most %d", notes, notesBytes)
	}
}
