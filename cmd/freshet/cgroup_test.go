package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSmallCgroup crawls in a memory cgroup of 200 MB: the default budget works. A budget that is too small for a
// crawl, or larger than the cgroup, is refused with a proposal.
func TestSmallCgroup(t *testing.T) {
	procs := newCgroup(t, 200_000_000)
	web := httptest.NewServer(smallWeb())
	t.Cleanup(web.Close)
	crawl := func(code int, args ...string) string {
		t.Helper()
		args = append([]string{"-c", "echo $$ > " + procs + ` && exec "$@"`, "sh", "freshet", "crawl", "--data", filepath.Join(t.TempDir(), "data"),
			"--allow-private", "--listen", "", "--quiet", "--delay", "0s", "--min-free", "0", web.URL}, args...)
		var said bytes.Buffer
		command := exec.CommandContext(t.Context(), "sh", args...)
		command.Stdout, command.Stderr = &said, &said
		if err := command.Run(); command.ProcessState == nil || command.ProcessState.ExitCode() != code {
			t.Errorf("%q: %v, want exit code %d\n%s", args, err, code, said.Bytes())
		}
		return said.String()
	}
	crawl(0)
	if said := crawl(1, "--memory", "100MiB"); !strings.Contains(said, "100 MiB of memory are too few: set --memory to at least 16") {
		t.Errorf("of too little it says %q", said)
	}
	crawl(0, "--memory", "120MiB", "--max-body", "1MiB")
	if said := crawl(2, "--memory", "1GiB"); !strings.Contains(said, "has 190 MiB; give at most 166 MiB") {
		t.Errorf("of more than there is it says %q", said)
	}
}

// newCgroup makes a memory cgroup of either version and returns its file of processes. Where nobody may, it skips.
func newCgroup(t *testing.T, limit int64) (procs string) {
	t.Helper()
	parent, file := "/sys/fs/cgroup", "memory.max"
	if _, err := os.Stat(filepath.Join(parent, "cgroup.controllers")); err != nil {
		parent, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	}
	dir := filepath.Join(parent, fmt.Sprintf("freshet-test-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no memory cgroup can be made: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	if err := os.WriteFile(filepath.Join(dir, file), fmt.Append(nil, limit), 0o644); err != nil {
		t.Skipf("no memory cgroup can be limited: %v", err)
	}
	return filepath.Join(dir, "cgroup.procs")
}
