package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func fileOf(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSettingsPage holds docs/settings.md to the list of settings, each of which has a unit.
func TestSettingsPage(t *testing.T) {
	var want bytes.Buffer
	writeSettings(&want)
	if diff := cmp.Diff(want.String(), fileOf(t, "docs", "settings.md")); diff != "" {
		t.Errorf("run: go run ./cmd/freshet docs settings > docs/settings.md\n%s", diff)
	}
	newCrawlFlags().VisitAll(func(f *pflag.Flag) {
		if unitOf(f) == "" {
			t.Errorf("--%s has no unit: give it one in units", f.Name)
		}
	})
	for _, name := range reloadable {
		if newCrawlFlags().Lookup(name) == nil {
			t.Errorf("%s is reloadable and no setting", name)
		}
	}
}

// TestManPages holds that there is one for every command that help shows, and none with a line that
// roff would take for its own.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	if err := writeManPages(dir, newRoot()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"freshet.1", "freshet-serve.1", "freshet-block.1", "freshet-config-show.1"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if stray := regexp.MustCompile(`(?m)^[.'](?:[^A-Zfn]|$).*`).Find(text); stray != nil {
			t.Errorf("%s: %q", name, stray)
		}
	}
}

// TestExamples holds that the example settings, and what they name, are valid.
func TestExamples(t *testing.T) {
	configs, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "freshet.yaml"))
	if err != nil || len(configs) < 3 {
		t.Fatalf("%d examples, %v", len(configs), err)
	}
	for _, config := range configs {
		t.Run(filepath.Base(filepath.Dir(config)), func(t *testing.T) {
			t.Chdir(filepath.Dir(config))
			flags := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
			s := crawlFlags(flags)
			if err := settleFile(flags, "freshet.yaml", nil); err != nil {
				t.Fatal(err)
			}
			options, err := s.serveOptions()
			if err != nil || len(options.Seeds) == 0 {
				t.Errorf("%d seeds, %v", len(options.Seeds), err)
			}
		})
	}
}

// TestDeploy holds that what starts freshet in deploy/ starts a command that there is, with its flags.
func TestDeploy(t *testing.T) {
	lines := map[string]*regexp.Regexp{
		"freshet.service": regexp.MustCompile(`(?m)^ExecStart=\S+/freshet (.*)$`),
		"Dockerfile":      regexp.MustCompile(`(?m)^ENTRYPOINT \["/freshet", (.*)\]$`),
	}
	for file, line := range lines {
		found := line.FindStringSubmatch(fileOf(t, "deploy", file))
		if found == nil {
			t.Errorf("%s: no line %v", file, line)
			continue
		}
		args := strings.Fields(strings.NewReplacer(`"`, "", ",", "").Replace(found[1]))
		cmd, rest, err := newRoot().Find(args)
		if err != nil || cmd.Name() != "serve" {
			t.Errorf("%s: %v: %v", file, args, err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
