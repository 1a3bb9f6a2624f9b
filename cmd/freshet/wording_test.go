package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestPlainly holds that no message begins with the name of a package that a source of the program puts before its
// errors. The name of a setting after a file and a line stays.
func TestPlainly(t *testing.T) {
	said := regexp.MustCompile(`(?:Errorf|errors\.New)\("([a-z]+): `)
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch top, _, _ := strings.Cut(name, "/"); {
		case err != nil:
			return err
		case d.IsDir() && (top == "cmd" || top == "lab" || top == "internal" || top == "bench" || top == "tools" || name != "." && strings.HasPrefix(top, ".")):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		for _, found := range said.FindAllStringSubmatch(string(source), -1) {
			if room := found[1]; path.Base(path.Dir(name)) == room && plainly(errors.New("cannot: "+room+": what")) != "cannot: what" {
				t.Errorf("%s: messages begin with %s", name, room)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	settings := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	crawlFlags(settings)
	settings.VisitAll(func(f *pflag.Flag) {
		if text := "a.yaml:2: " + f.Name + ": what"; plainly(errors.New(text)) != text {
			t.Errorf("the setting %s is lost", f.Name)
		}
	})
	for text, want := range map[string]string{
		"store: partition 3: seen: full":      "partition 3: full",
		`a.yaml:2: memory: "much": want 1MiB`: `a.yaml:2: memory: "much": want 1MiB`,
		"a.txt:2: frontier: pattern":          "a.txt:2: pattern",
		"not found: stored: no text: a page":  "not found: no text: a page",
	} {
		if got := plainly(errors.New(text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
