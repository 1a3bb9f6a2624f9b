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

// TestReadme runs every command of the README: the blocks fenced as sh, in order, in one shell and one
// empty directory, with the binary and warcio on the PATH. A block fenced without a language is for
// reading: what needs a clone, the open network or the reader's name. A block fails by the exit code of
// any of its commands, or, where a pipe hides that, by what freshet says on standard error.
func TestReadme(t *testing.T) { runBlocks(t, "README.md") }

// TestOperations does the same for the page on operations.
func TestOperations(t *testing.T) { runBlocks(t, filepath.Join("docs", "operations.md")) }

// TestServing does the same for the page on the daemon.
func TestServing(t *testing.T) { runBlocks(t, filepath.Join("docs", "serving.md")) }

func runBlocks(t *testing.T, page string) {
	dependOnSources(t)
	blocks := shellBlocks(string(read(t, filepath.Join(repository, page))))
	if len(blocks) < 3 {
		t.Fatalf("%s has %d sh blocks; the test has lost sight of them", page, len(blocks))
	}
	var script strings.Builder
	script.WriteString("set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n")
	for i, block := range blocks {
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

// complaint finds what a failing command says where the shell does not see its exit code.
var complaint = regexp.MustCompile(`(?m)^freshet: .*|^.*(?:command not found|No such file).*`)

// shellBlocks returns the contents of the fenced blocks of a Markdown text whose language is sh.
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
