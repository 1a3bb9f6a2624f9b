package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// archiveAlone names, in the environment, the archive that TestViewAlone looks at on a machine without network.
const archiveAlone = "FRESHET_TEST_ARCHIVE"

// aloneSite is the site that TestViewAlone crawls. Its server is gone when the test views the archive.
const aloneSite = "http://styled.test/"

// TestViewAlone looks at a finished archive on a machine that has no network but itself: a page's history, two versions
// side by side, and its replay, which looks as the page did.
func TestViewAlone(t *testing.T) {
	if dir := os.Getenv(archiveAlone); dir != "" {
		viewAlone(t, dir)
		return
	}
	b := openBrowser(t)
	site := styledSite(t)
	dir := t.TempDir()
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "freshet.yaml")
	var added atomic.Value
	added.Store("")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site.Config.Handler.ServeHTTP(w, r)
		if r.URL.Path == "/" {
			fmt.Fprint(w, added.Load())
		}
	}))
	t.Cleanup(web.Close)
	put(t, config, fmt.Sprintf("resolve: styled.test=%s\nallow-private: true\ndelay: 0s\nlisten: \"\"\n", strings.TrimPrefix(web.URL, "http://")))
	freshet(t, 0, "crawl", "--config", config, "--data", data, "--quiet", aloneSite)
	added.Store("<p>what is new")
	freshet(t, 0, "recrawl", "--config", config, "--data", data, aloneSite)
	freshet(t, 0, "crawl", "--config", config, "--data", data, "--quiet")
	put(t, filepath.Join(dir, "live.png"), string(b.look(web.URL+"/")))
	web.Close()

	runAlone(t, archiveAlone+"="+dir)
}

// runAlone runs the test again, with a variable of the environment, on a machine that has no network but itself.
func runAlone(t *testing.T, variable string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	alone := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v")
	alone.Env = append(os.Environ(), variable)
	alone.SysProcAttr = namespaces(0)
	var out bytes.Buffer
	alone.Stdout, alone.Stderr = &out, &out
	if err := alone.Start(); err != nil {
		t.Skipf("no namespace may be made: %v", err)
	}
	err = alone.Wait()
	t.Logf("in the namespace:\n%s", &out)
	if strings.Contains(out.String(), "--- SKIP") {
		t.Skip("it could not be set up")
	}
	if err != nil {
		t.Error(err)
	}
}

// namespaces are users and a network of a process's own, in which the user of this one has that number.
func namespaces(user int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}},
	}
}

// ip runs ip(8), or the program that runs it elsewhere.
func ip(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Skipf("%s: %v: %s", line, err, out)
	}
}

// viewAlone is the part of TestViewAlone on the machine without network.
func viewAlone(t *testing.T, dir string) {
	ip(t, "ip link set lo up")
	live, err := os.ReadFile(filepath.Join(dir, "live.png"))
	if err != nil {
		t.Fatal(err)
	}
	b := openBrowser(t)
	p := start(t, "view", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0")
	address, _, _ := strings.Cut(strings.TrimPrefix(p.awaitLine("shows"), "http://"), "/")
	for path, want := range map[string]string{
		"/": "Known pages", "/page?url=" + aloneSite: "Versions", "/diff?from=1&to=2&url=" + aloneSite: "what is new",
	} {
		b.look("http://" + address + path)
		if text := b.text("document.body.innerText"); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", path, want, text)
		}
	}
	if replayed := b.look("http://" + address + "/web/" + aloneSite); !bytes.Equal(live, replayed) {
		t.Errorf("the pictures differ: %d bytes of the site's, %d of the replay's", len(live), len(replayed))
	}
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.end()
}
