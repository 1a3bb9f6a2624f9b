package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/clock"
)

// TestMain lets the test binary be freshet itself, for the scripts and for tests that start processes.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"freshet": func() { os.Exit(run(context.Background(), os.Args[1:])) },
	})
}

// TestScripts runs the scripts of testdata/script. They fix what people and programs type and what freshet tells them:
// flags, exit codes, both streams. The scripts have these commands in addition to testscript's own:
//
//	exits CODE freshet ARG…   wants the exit code, and in the scripts of mistakes one line that tells of the mistake
//	awaits FILE               waits until the file exists
//	damage DIR                zeroes the middle third of every file of a folder
//
// Each script's folder has web.yaml, the settings for a crawl of http://site.test/ (see smallWeb). The variable WEB is
// the address of its server. CLOSED is an address on which nobody listens.
func TestScripts(t *testing.T) {
	web := httptest.NewServer(smallWeb())
	t.Cleanup(web.Close)
	address := strings.TrimPrefix(web.URL, "http://")
	closed := httptest.NewServer(nil)
	closed.Close()
	config := fmt.Sprintf("resolve: [site.test=%s, busy.test=%s, closed.test=%s, forbids.test=%s, broken.test=%s, down.test=%s, locked.test=%s, ring.test=%s, packed.test=%s]\nallow-private: true\ndelay: 0s\nretries: 0\nlisten: \"\"\n",
		address, address, strings.TrimPrefix(closed.URL, "http://"), address, address, address, address, address, address)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("WEB", address)
			env.Setenv("CLOSED", strings.TrimPrefix(closed.URL, "http://"))
			return os.WriteFile(filepath.Join(env.WorkDir, "web.yaml"), []byte(config), 0o600)
		},
		Cmds:               map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "awaits": awaits, "damage": damage},
		RequireUniqueNames: true,
	})
}

func exits(script *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if err != nil || neg {
		script.Fatalf("usage: exits CODE COMMAND…")
	}
	got := 0
	if err := script.Exec(args[1], args[2:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			script.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		script.Fatalf("exit code %d: want %d", got, want)
	}
	if strings.HasPrefix(script.Name(), "mistake-") && args[2] != "serve" {
		said := script.ReadFile("stderr")
		told := strings.Count("\n"+said, "\nfreshet: ")
		if failed := got == 1 || got == 2; told > 1 || failed && told == 0 || strings.Contains(said, "level=ERROR") {
			script.Fatalf("a mistake is told in %d lines, or in the log: want one line", told)
		}
	}
}

func awaits(script *testscript.TestScript, _ bool, args []string) {
	file := script.MkAbs(args[0])
	for range 1000 {
		if _, err := os.Stat(file); err == nil {
			return
		}
		script.Check(clock.Real().Sleep(context.Background(), 10*time.Millisecond))
	}
	script.Fatalf("there is no %s", args[0])
}

func damage(script *testscript.TestScript, _ bool, args []string) {
	dir := script.MkAbs(args[0])
	files, err := os.ReadDir(dir)
	script.Check(err)
	for _, file := range files {
		name := filepath.Join(dir, file.Name())
		content, err := os.ReadFile(name)
		script.Check(err)
		clear(content[len(content)/3 : len(content)/3*2])
		script.Check(os.Remove(name)) // a snapshot may share the file
		script.Check(os.WriteFile(name, content, 0o644))
	}
}

// smallWeb is a site of three pages, one that is missing, one that robots.txt forbids and one that redirects. Other
// sites go wrong. forbids.test lets only friend in. broken.test has a robots.txt that is out of order. locked.test
// forbids all by its answers. busy.test asks for a pause of an hour. down.test answers 500. ring.test redirects to
// itself. packed.test has a page of 5 MiB in a few kilobytes.
func smallWeb() http.Handler {
	mux := http.NewServeMux()
	says := func(pattern string, status int, text string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", r.URL.Path)
			w.WriteHeader(status)
			fmt.Fprint(w, text)
		})
	}
	says("forbids.test/robots.txt", http.StatusOK, "User-agent: friend\nDisallow:\n\nUser-agent: *\nDisallow: /\n")
	says("forbids.test/", http.StatusOK, "come in")
	says("broken.test/robots.txt", http.StatusServiceUnavailable, "")
	says("locked.test/robots.txt", http.StatusNotFound, "")
	says("locked.test/", http.StatusForbidden, "")
	says("busy.test/robots.txt", http.StatusNotFound, "")
	mux.HandleFunc("busy.test/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	says("down.test/robots.txt", http.StatusNotFound, "")
	says("down.test/", http.StatusInternalServerError, "")
	says("ring.test/robots.txt", http.StatusNotFound, "")
	says("ring.test/", http.StatusFound, "")
	mux.HandleFunc("packed.test/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/html")
		packer := gzip.NewWriter(w)
		defer packer.Close()
		fmt.Fprint(packer, strings.Repeat("long ", 1<<20))
	})
	page := func(path, text string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, text)
		})
	}
	page("/{$}", `<title>Home</title><a href="a.html">a</a> <a href="b.html">b</a> <a href="gone.html">gone</a>`)
	page("/a.html", `<title>A</title><a href="b.html">b</a> <a href="private/c.html">c</a>`)
	page("/b.html", `<title>B</title><a href="moved">a</a> <a href="http://elsewhere.test/">elsewhere</a>`)
	mux.Handle("GET /moved", http.RedirectHandler("/a.html", http.StatusFound))
	mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "User-agent: *\nDisallow: /private/\n")
	})
	return mux
}

// TestHelp holds that every command has a description and an example. The help prints the short description above the
// long one, so the long one does not repeat it.
func TestHelp(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" {
			return // cobra's own
		}
		if cmd.Short == "" || !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s: short %q, example %q", cmd.CommandPath(), cmd.Short, cmd.Example)
		}
		if strings.HasPrefix(cmd.Long, cmd.Short) {
			t.Errorf("%s: its help says %q twice", cmd.CommandPath(), cmd.Short)
		}
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(newRoot())
}

// TestSurplusArguments holds that every command which does not take that many arguments says what it wants, and where
// its help is.
func TestSurplusArguments(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" || cmd.Name() == "help" {
			return // cobra's own
		}
		err := cmd.ValidateArgs([]string{"surplus", "surplus", "surplus"})
		if err != nil && !strings.HasSuffix(err.Error(), "see "+cmd.CommandPath()+" --help)") {
			t.Errorf("%s: %v", cmd.CommandPath(), err)
		}
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(newRoot())
}

// TestSections holds that every setting, and every command but those that help, stands below one heading.
func TestSections(t *testing.T) {
	seen := map[string]int{}
	for _, s := range settingSections {
		for _, name := range s.names {
			seen[name]++
		}
	}
	flags := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	crawlFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if seen[f.Name] != 1 {
			t.Errorf("--%s stands below %d headings", f.Name, seen[f.Name])
		}
		delete(seen, f.Name)
	})
	if len(seen) > 0 {
		t.Errorf("no settings: %v", seen)
	}
	for _, cmd := range newRoot().Commands() {
		helps := slices.Contains([]string{"help", "completion", "docs", "url", "robots", "config", "version"}, cmd.Name())
		if (cmd.GroupID == "") != helps {
			t.Errorf("%s stands below the heading %q", cmd.Name(), cmd.GroupID)
		}
	}
}
