package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadme runs every command of the README. It runs the blocks fenced as sh in order, in one shell and one empty
// directory, with the binary and warcio on the PATH. A block without a language is for reading: its commands need a
// clone, the open network or the reader's name. A block fails by the exit code of any command. Where a pipe hides the
// code, it fails by what freshet prints on standard error.
func TestReadme(t *testing.T) { runBlocks(t, "README.md") }

// TestTutorials does the same for each tutorial, in a directory of its own.
func TestTutorials(t *testing.T) {
	for _, page := range pagesOf(t, "tutorials") {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) { runBlocks(t, page) })
	}
}

// TestHowTo does the same for each page on how to do something, after the blocks of their index: they begin in
// the folder that it makes.
//
// It runs beside TestKillLoop, which waits most of the time. TestReadme and TestTutorials do not: pages listen on the
// same ports.
func TestHowTo(t *testing.T) {
	t.Parallel()
	for _, page := range pagesOf(t, "how-to") {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			runBlocks(t, filepath.Join("docs", "how-to", "README.md"), page)
		})
	}
}

// pagesOf returns the pages of a folder of docs, without its index.
func pagesOf(t *testing.T, folder string) (pages []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(repository, "docs", folder, "*.md"))
	if err != nil || len(names) < 5 {
		t.Fatalf("%d pages below docs/%s, %v: want 5 or more", len(names), folder, err)
	}
	for _, name := range names {
		if filepath.Base(name) != "README.md" {
			pages = append(pages, filepath.Join("docs", folder, filepath.Base(name)))
		}
	}
	return pages
}

// runBlocks runs the blocks of some pages in one shell. A page without any is for reading alone.
func runBlocks(t *testing.T, pages ...string) {
	dependOnSources(t)
	var blocks []string
	for _, page := range pages {
		of := shellBlocks(string(read(t, filepath.Join(repository, page))))
		if len(of) == 0 {
			t.Skipf("%s has no sh blocks", page)
		}
		blocks = append(blocks, of...)
	}
	var script strings.Builder
	script.WriteString("set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n")
	for i, block := range blocks {
		if strings.Contains(block, "wait %") {
			t.Errorf("block %d waits for a job by its number, which is gone if the job has ended: write wait $!", i+1)
		}
		fmt.Fprintf(&script, "echo '== block %d' >&2\n%s\n", i+1, block)
	}
	script.WriteString("echo '== end' >&2\n") // what comes after is said by what the trap ends
	modules := filepath.Join(repository, "internal", "oracle", "node_modules", ".bin")
	path := strings.Join([]string{filepath.Dir(binary), modules, os.Getenv("PATH")}, string(filepath.ListSeparator))

	var out, said bytes.Buffer
	shell := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	shell.Dir = t.TempDir()
	shell.Env = append(os.Environ(), "PATH="+path)
	shell.Stdout, shell.Stderr = &out, &said
	err := shell.Run()
	t.Logf("%s", out.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, said.Bytes())
	}
	complaints, _, _ := bytes.Cut(said.Bytes(), []byte("== end"))
	if fault := complaint.Find(complaints); fault != nil {
		t.Errorf("a command complains: %s\n%s", fault, complaints)
	}
}

// complaint matches the message of a failing command if the shell does not see its exit code.
var complaint = regexp.MustCompile(`(?m)^freshet: .*|^.*(?:command not found|No such file).*`)

// shellBlocks returns the contents of the blocks in a Markdown text that are fenced as sh.
func shellBlocks(text string) []string {
	var blocks []string
	for _, part := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, part[1])
	}
	return blocks
}

func TestShellBlocks(t *testing.T) {
	got := shellBlocks("text\n```sh\na\nb\n```\n\n```\nnot this\n```\nand `sh`\n```sh\nc\n```\n")
	if len(got) != 2 || got[0] != "a\nb\n" || got[1] != "c\n" {
		t.Errorf("shellBlocks = %q", got)
	}
}
