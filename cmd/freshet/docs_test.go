package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/cmd/freshet/command"
)

func fileOf(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSettingsPage holds that docs/settings.md equals the list of settings, and that each has a unit.
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

// TestCommandsPage holds docs/commands.md to the commands.
func TestCommandsPage(t *testing.T) {
	var want bytes.Buffer
	writeCommands(&want, newRoot())
	if diff := cmp.Diff(want.String(), fileOf(t, "docs", "commands.md")); diff != "" {
		t.Errorf("run: go run ./cmd/freshet docs commands > docs/commands.md\n%s", diff)
	}
}

// TestMetricsPage holds docs/metrics.md to the metrics.
func TestMetricsPage(t *testing.T) {
	var want bytes.Buffer
	writeMetrics(&want)
	if diff := cmp.Diff(want.String(), fileOf(t, "docs", "metrics.md")); diff != "" {
		t.Errorf("run: go run ./cmd/freshet docs metrics > docs/metrics.md\n%s", diff)
	}
}

// TestCommandsOfDocs holds that every command that a page names exists and has the flags that the page gives it. The
// flags take the values; a value in capitals is a placeholder. TestCommandsRun runs the commands.
func TestCommandsOfDocs(t *testing.T) {
	var (
		command     = regexp.MustCompile("(?m)(?:^ *|`|\\$\\()freshet( [^`\n|>&;#)]*)")
		placeholder = regexp.MustCompile(`"[A-Z]+"`)
		count       int
	)
	for _, page := range pagesOf(t) {
		for _, found := range command.FindAllStringSubmatch(page.text, -1) {
			if page.name == "docs/commands.md" && strings.Contains(found[1], "CRAWLERSx") { // a usage line
				continue
			}
			count++
			args := strings.Fields(strings.ReplaceAll(found[1], "…", ""))
			for i := range args {
				args[i] = strings.Trim(args[i], `"`)
			}
			root := newRoot()
			err := unknownCommand(root, args)
			if err == nil {
				var cmd *cobra.Command
				if cmd, args, err = root.Find(args); err == nil {
					err = cmd.ParseFlags(args)
				}
			}
			if err != nil && !errors.Is(err, pflag.ErrHelp) && !placeholder.MatchString(err.Error()) {
				t.Errorf("%s: freshet%s: %v", page.name, found[1], err)
			}
		}
	}
	if count < 100 {
		t.Errorf("%d commands found: want more than 100", count)
	}
}

// page is a page of documentation.
type page struct {
	name string // below the repository
	text string
}

// pagesOf returns every page of the documentation.
func pagesOf(t *testing.T) (pages []page) {
	t.Helper()
	repository := os.DirFS(filepath.Join("..", ".."))
	for _, pattern := range []string{"*.md", "bench/*.md", "docs/*.md", "docs/*/*.md"} {
		names, err := fs.Glob(repository, pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%d pages %s, %v", len(names), pattern, err)
		}
		for _, name := range names {
			pages = append(pages, page{name, fileOf(t, name)})
		}
	}
	return pages
}

// TestManPages holds that every command that help shows has a man page. No man page has a line that roff would take
// for a request.
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

// TestExamples holds that the example settings are valid, and so are the files that they name.
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
			if filepath.Base(filepath.Dir(config)) == "monitor" && options.Refresh == nil {
				t.Error("it watches for changes, but visits no page again")
			}
		})
	}
}

// TestDeploy holds that the files of deploy/ start commands that exist, with flags that they have.
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

// TestUnit holds that systemd starts a crawl again after a fault only: not after a signal, not after wrong settings,
// and not after a limit, because --max-pages counts from each start.
func TestUnit(t *testing.T) {
	text := fileOf(t, "deploy", "freshet.service")
	for _, line := range []string{
		"Restart=on-failure",
		fmt.Sprintf("SuccessExitStatus=%d", command.ExitInterrupted),
		fmt.Sprintf("RestartPreventExitStatus=%d %d", command.ExitUsage, command.ExitLimit),
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("there is no line %s", line)
		}
	}
}

// TestDockerfile checks the steps without building an image: copied paths exist, an earlier stage makes what a later
// one copies, the toolchain is that of go.mod, and the commands exist.
func TestDockerfile(t *testing.T) {
	text := fileOf(t, "deploy", "Dockerfile")
	made := map[string]bool{"/etc/ssl/certs/ca-certificates.crt": true} // in every Debian image with Go
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(line, "#"):
		case words[0] == "FROM" && words[1] != "scratch":
			image := regexp.MustCompile(`^golang:(\d+\.\d+)$`).FindStringSubmatch(words[1])
			wanted := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(fileOf(t, "go.mod"))
			if image == nil || image[1] != wanted[1] {
				t.Errorf("%s: go.mod wants go %s", words[1], wanted[1])
			}
		case words[0] == "COPY" && words[1] == "--from=build":
			source := words[len(words)-2]
			if !made[source] {
				t.Errorf("%s is copied, and not made", source)
			}
		case words[0] == "COPY":
			for _, source := range words[1 : len(words)-1] {
				if _, err := os.Stat(filepath.Join("..", "..", source)); err != nil {
					t.Error(err)
				}
			}
		case words[0] == "RUN":
			for step := range strings.SplitSeq(strings.TrimPrefix(line, "RUN "), "&&") {
				words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(step), "CGO_ENABLED=0 "))
				if _, err := exec.LookPath(words[0]); err != nil {
					t.Error(err)
				}
				if words[0] == "go" && words[1] == "build" {
					if _, err := os.Stat(filepath.Join("..", "..", words[len(words)-1], "main.go")); err != nil {
						t.Error(err)
					}
					made[words[slices.Index(words, "-o")+1]] = true
				}
				if words[0] == "mkdir" {
					made[words[1]] = true
				}
			}
		}
	}
	if !made["/freshet"] || !made["/data"] {
		t.Errorf("the steps make %v", made)
	}
}
