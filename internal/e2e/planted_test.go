package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPlantedPage has one page kill the built program in processing. That costs three restarts. The fourth run sets
// the page aside, stores every other page and ends in order. The commands say why, and a recrawl stores the page.
func TestPlantedPage(t *testing.T) {
	dependOnSources(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>%s</title><p>%s</p>", r.URL.Path, r.URL.Path)
		for i := range 30 {
			fmt.Fprintf(w, `<a href="/%d">%d</a> `, i, i)
		}
	}))
	defer server.Close()
	planted := filepath.Join(t.TempDir(), "freshet")
	build := exec.Command("go", "build", "-tags", "planted", "-o", planted, "./cmd/freshet")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	data, killer := filepath.Join(t.TempDir(), "data"), server.URL+"/7"
	args := []string{"crawl", "--data", data, "--json", "--quiet", "--listen", "", "--allow-private", "--delay", "0s", server.URL + "/"}
	kills := 0
	for ; kills < 10; kills++ {
		command := exec.CommandContext(t.Context(), planted, args...)
		command.Env = append(os.Environ(), "FRESHET_KILLED_BY="+killer)
		out, err := command.CombinedOutput()
		if err == nil {
			break
		}
		if status, ok := command.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
			t.Fatalf("run %d: %v\n%s", kills+1, err, out)
		}
	}
	if kills != 3 {
		t.Errorf("%d restarts, want 3", kills)
	}
	if table := pages(t, data); len(table) < 31 {
		t.Errorf("%d pages, want 31 and the one that kills", len(table))
	}
	if out := run(t, binary, "pages", "--skipped", "--data", data); !strings.Contains(string(out), "crashes") {
		t.Errorf("pages --skipped does not say why:\n%s", out)
	}
	if out, err := try(t, binary, "explain", "--data", data, killer); !strings.Contains(string(out), "set aside") {
		t.Errorf("explain, error %v, does not say why:\n%s", err, out)
	}
	run(t, binary, "recrawl", "--data", data, killer)
	run(t, binary, args...)
	if out := run(t, binary, "cat", "--data", data, killer); !strings.Contains(string(out), "/7</title>") {
		t.Errorf("after a recrawl, without what killed: %s", out)
	}
	run(t, binary, "verify", "--data", data)
}
