package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLabPage does what docs/lab.md says: it adds the page's experiment to the program, which then runs
// it. The files lie elsewhere and are laid over the module's for this one build.
func TestLabPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/lab.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n```go\n")
	code, _, found := strings.Cut(rest, "\n```\n")
	if !found {
		t.Fatal("docs/lab.md has no experiment")
	}
	list, err := os.ReadFile("lab.go")
	if err != nil {
		t.Fatal(err)
	}
	with := strings.Replace(string(list), "return []lab.Experiment{\n", "return []lab.Experiment{\n\t\tlatest.Experiment(),\n", 1)
	with = strings.Replace(with, "\t\"freshet/lab\"\n", "\t\"freshet/lab\"\n\t\"freshet/lab/latest\"\n", 1)
	overlay := map[string]string{}
	for name, text := range map[string]string{"lab.go": with, "../../lab/latest/experiment.go": code + "\n"} {
		laid := filepath.Join(t.TempDir(), filepath.Base(name))
		if err := os.WriteFile(laid, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		where, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		overlay[where] = laid
	}
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var faults bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", "run", "-ldflags=-w", "-overlay", file, ".", "lab", "run", "latest", "--sites", "20", "--json")
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, faults.Bytes())
	}
	if want := `{"experiment":"latest","parameters":{"sites":20},"rows":[{"order":"length","pages":`; !strings.HasPrefix(string(out), want) {
		t.Errorf("%s\nwant %s…", out, want)
	}
}
