package e2e

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"freshet/clock"
	"freshet/internal/sites"
)

var (
	seed = flag.Uint64("seed", 1, "of the random instants of TestKillLoop")

	repository string // where go.mod is
	binary     string // the freshet under test
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(buildAndRun(m))
}

// buildAndRun builds the binary and the checker of digests, and runs the tests.
func buildAndRun(m *testing.M) int {
	var err error
	if repository, err = filepath.Abs("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bin, err := os.MkdirTemp("", "freshet-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(bin)
	build := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "./cmd/freshet", "./internal/oracle/digests")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "e2e: go build: %v\n%s", err, out)
		return 1
	}
	binary = filepath.Join(bin, "freshet")
	return m.Run()
}

// dependOnSources looks at every file of the repository. The go command caches the result of a test until a file that
// the test has looked at changes. So it runs the test again after a change of the programs that the test drives.
func dependOnSources(t testing.TB) {
	t.Helper()
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case slices.Contains([]string{".go", ".mjs", ".md", ".json", ".yml"}, filepath.Ext(path)):
			_, _ = os.Stat(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a program to its end and returns its standard output. Any exit code but 0 fails the test.
func run(t testing.TB, name string, args ...string) []byte {
	t.Helper()
	out, err := try(t, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// try runs a program to its end. Its error has the exit code and the end of the output.
func try(t testing.TB, name string, args ...string) ([]byte, error) {
	t.Helper()
	var out, said bytes.Buffer
	command := exec.CommandContext(t.Context(), name, args...)
	command.Stdout, command.Stderr = &out, &said
	if err := command.Run(); err != nil {
		line := filepath.Base(name) + " " + strings.Join(args, " ")
		return out.Bytes(), fmt.Errorf("%.300s: %w\n%s%s", line, err, last(out.Bytes()), last(said.Bytes()))
	}
	return out.Bytes(), nil
}

// last returns the end of a program's output.
func last(out []byte) []byte { return out[max(0, len(out)-2000):] }

// oracle runs one of the programs of internal/oracle and returns its output.
func oracle(t testing.TB, script string, args ...string) []byte {
	t.Helper()
	dir := filepath.Join(repository, "internal", "oracle")
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		t.Fatalf("the modules of the oracles are not installed: run make setup (%v)", err)
	}
	return run(t, "node", append([]string{filepath.Join(dir, script)}, args...)...)
}

// install returns the named real sites. Where they cannot be fetched the test is skipped, though not in
// continuous integration.
func install(t testing.TB, names ...string) []sites.Site {
	t.Helper()
	dependOnSources(t)
	dir, err := sites.Directory()
	if err != nil {
		t.Fatal(err)
	}
	installed, err := sites.Install(t.Context(), dir, names...)
	if errors.Is(err, sites.ErrUnavailable) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return installed
}

// serve serves each site on a loopback address of its own below 127.net, until the test ends.
func serve(t testing.TB, net int, log *sites.Log, opt sites.Options, installed ...sites.Site) []*sites.Server {
	t.Helper()
	opt.Clock, opt.Log = clock.Real(), log
	servers := make([]*sites.Server, len(installed))
	for i, site := range installed {
		server, err := sites.Serve(site, fmt.Sprintf("127.%d.0.%d", net, i+1), opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		})
		servers[i] = server
	}
	return servers
}
