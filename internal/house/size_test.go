package house

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// docsBytes is how long the pages of docs may be together, without notes and the pages that the program writes. Whoever
// adds a sentence cuts another.
const docsBytes = 150_000

// TestDocsStayShort holds that the docs can be read.
func TestDocsStayShort(t *testing.T) {
	var total int64
	for _, name := range files(t) {
		if path.Ext(name) != ".md" || !strings.HasPrefix(name, "docs/") || strings.HasPrefix(name, "docs/notes/") ||
			slices.Contains(generated, name) {
			continue
		}
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > docsBytes {
		t.Errorf("docs: %d bytes without notes and generated pages: want at most %d", total, docsBytes)
	}
}
