// Package transcript runs tests that are text: commands, and what they print.
//
// A file of testdata/*.txt has blocks, with an empty line between two. A block is some commands, a line of
// ----, and what the commands print. Lines that begin with # are for the reader. With -rewrite the files are
// written as the commands print now; read the difference before it is committed.
package transcript

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write what the transcripts print into testdata")

// Run runs every transcript of the package as a subtest. It calls begin for each file. What begin returns
// carries out the commands of a block, without lines for the reader, and returns what they print.
func Run(t *testing.T, begin func(t *testing.T) func(commands []string) string) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(string(raw), begin(t))
			if *rewrite {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(raw), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// replay returns the transcript with what its commands print now.
func replay(text string, carryOut func(commands []string) string) string {
	var out []string
	for block := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n\n") {
		lines, _, _ := strings.Cut(block, "\n----")
		var commands []string
		for line := range strings.SplitSeq(lines, "\n") {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				commands = append(commands, line)
			}
		}
		printed := strings.TrimRight(carryOut(commands), "\n")
		if printed != "" {
			printed = "\n" + printed
		}
		out = append(out, lines+"\n----"+printed)
	}
	return strings.Join(out, "\n\n") + "\n"
}
