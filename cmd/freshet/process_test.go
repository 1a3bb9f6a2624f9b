package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"freshet/cmd/freshet/command"
	"freshet/crawl"
	"freshet/node"
)

// slowSite is a site that answers for its home page only when the test says so.
type slowSite struct {
	*httptest.Server
	asked   chan struct{} // gets a token when the home page is asked for
	release func()        // lets it be answered
}

func newSlowSite(t *testing.T) *slowSite {
	released := make(chan struct{})
	site := &slowSite{asked: make(chan struct{}, 16), release: sync.OnceFunc(func() { close(released) })}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		site.asked <- struct{}{}
		<-released
		fmt.Fprint(w, "<title>Home</title>")
	})
	site.Server = httptest.NewServer(mux)
	t.Cleanup(site.Close)
	t.Cleanup(site.release) // before Close, which waits for the answer
	return site
}

// process is a freshet that runs.
type process struct {
	*exec.Cmd
	t      *testing.T
	stdout bytes.Buffer
	said   *bufio.Scanner // standard error
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	return launch(t, exec.CommandContext(t.Context(), "freshet", args...))
}

// launch starts a command that is a freshet.
func launch(t *testing.T, command *exec.Cmd) *process {
	t.Helper()
	p := &process{Cmd: command, t: t}
	p.Stdout = &p.stdout
	pipe, err := p.StderrPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.said = bufio.NewScanner(pipe)
	return p
}

// signal sends a signal and reads on until the process answers it with these words.
func (p *process) signal(s os.Signal, words string) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	for p.said.Scan() {
		if strings.Contains(p.said.Text(), words) {
			return
		}
	}
	p.t.Fatalf("ended without saying %q", words)
}

// end waits for the process to end and returns its exit code, -1 after a kill.
func (p *process) end() int {
	for p.said.Scan() { // what it says must be read before Wait
		p.t.Log(p.said.Text())
	}
	_ = p.Wait() // the exit code says it
	return p.ProcessState.ExitCode()
}

// freshet runs a command to its end, wants its exit code and returns both streams.
func freshet(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, said bytes.Buffer
	command := exec.CommandContext(t.Context(), "freshet", args...)
	command.Stdout, command.Stderr = &out, &said
	if err := command.Run(); command.ProcessState == nil || command.ProcessState.ExitCode() != code {
		t.Errorf("freshet %s: %v: want exit code %d\n%s", strings.Join(args, " "), err, code, said.Bytes())
	}
	return out.String(), said.String()
}

func summaryOf(t *testing.T, line []byte) (s node.Summary) {
	t.Helper()
	if err := json.Unmarshal(line, &s); err != nil {
		t.Fatalf("summary %q: %v", line, err)
	}
	return s
}

func statusOf(t *testing.T, data string) (s status) {
	t.Helper()
	out, _ := freshet(t, 0, "status", "--data", data, "--json")
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("status %q: %v", out, err)
	}
	return s
}

// slowCrawl starts a crawl of the site and returns when the home page is in flight.
func slowCrawl(t *testing.T, site *slowSite, data string) *process {
	t.Helper()
	p := start(t, "crawl", "--data", data, "--allow-private", "--listen", "", "--quiet", "--json", "--delay", "0s", site.URL)
	<-site.asked
	return p
}

// TestInterrupt holds that after the first signal the crawl finishes and stores the requests in flight. Meanwhile
// others can read the directory but not use it. The directory's path is too long for a socket.
func TestInterrupt(t *testing.T) {
	site := newSlowSite(t)
	data := filepath.Join(t.TempDir(), strings.Repeat("long/", 40), "data")
	p := slowCrawl(t, site, data)

	if s := statusOf(t, data); s.State != "crawling" {
		t.Errorf("status of a running crawl: %+v", s)
	}
	if out, _ := freshet(t, 0, "pages", "--data", data); !strings.Contains(out, site.URL) {
		t.Errorf("pages of a running crawl: %q", out)
	}
	if _, said := freshet(t, 1, "pages", "--data", data, "--crawl", "other"); !strings.Contains(said, `crawl "main" is running in the directory`) {
		t.Errorf("pages of another crawl: %q", said)
	}
	var tries sync.WaitGroup // each waits some time for the directory
	running, using := "a crawl is running in "+data, "another process (a crawl, or freshet view) is using "+data
	for _, try := range []struct {
		args []string
		want string
	}{
		{[]string{"verify"}, running}, {[]string{"export", "--cdxj", "-"}, running}, {[]string{"crawl", "--listen", "", site.URL}, using},
	} {
		tries.Go(func() {
			args := append(try.args, "--data", data)
			if _, said := freshet(t, 1, args...); !strings.Contains(said, try.want) {
				t.Errorf("%v in a directory that is in use: %q", args, said)
			}
		})
	}
	tries.Wait()

	p.signal(os.Interrupt, "finishing the requests under way")
	site.release()
	if code := p.end(); code != command.ExitInterrupted {
		t.Errorf("exit code %d: want %d", code, command.ExitInterrupted)
	}
	if s := summaryOf(t, p.stdout.Bytes()); s.Pages != 1 || s.StoppedBy != crawl.Signal {
		t.Errorf("summary %+v: want the page that was in flight", s)
	}
	if _, err := os.Stat(filepath.Join(data, socketName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the control socket is still there: %v", err)
	}
	freshet(t, 0, "verify", "--data", data)
}

// TestInterruptTwice holds that the second signal abandons the requests in flight and leaves their pages queued. The
// stop does not count as clean, even if somebody opens the directory in between to read or to repair it.
func TestInterruptTwice(t *testing.T) {
	site := newSlowSite(t)
	data := filepath.Join(t.TempDir(), "data")
	p := slowCrawl(t, site, data)
	p.signal(syscall.SIGTERM, "finishing the requests under way")
	p.signal(os.Interrupt, "stopping at once")
	if code := p.end(); code != command.ExitInterrupted {
		t.Errorf("exit code %d: want %d", code, command.ExitInterrupted)
	}
	if s := summaryOf(t, p.stdout.Bytes()); s.Pages != 0 || s.StoppedBy != crawl.Signal {
		t.Errorf("summary %+v: want no page", s)
	}
	goesOnAfterUncleanStop(t, site, data)
}

// TestKill holds the same of a process that had no time for anything.
func TestKill(t *testing.T) {
	site := newSlowSite(t)
	data := filepath.Join(t.TempDir(), "data")
	p := slowCrawl(t, site, data)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end()
	goesOnAfterUncleanStop(t, site, data)
}

func goesOnAfterUncleanStop(t *testing.T, site *slowSite, data string) {
	t.Helper()
	freshet(t, 0, "export", "--data", data, "--cdxj", "-")
	freshet(t, 0, "verify", "--data", data)
	if s := statusOf(t, data); s.CleanStop || s.QueuedNew != 1 {
		t.Errorf("status after verify: %+v: want an unclean stop and the page queued", s)
	}
	site.release()
	out, _ := freshet(t, 0, "crawl", "--data", data, "--allow-private", "--listen", "", "--quiet", "--json", "--delay", "0s", site.URL)
	if s := summaryOf(t, []byte(out)); s.Pages != 1 {
		t.Errorf("summary of the next run: %+v: want the page", s)
	}
	freshet(t, 0, "verify", "--data", data)
}

// TestListenTaken holds that a crawl fails if the given --listen address is taken, and that an empty one is accepted
// silently.
func TestListenTaken(t *testing.T) {
	site := httptest.NewServer(smallWeb())
	t.Cleanup(site.Close)
	taken := strings.TrimPrefix(site.URL, "http://")
	args := []string{"crawl", "--data", filepath.Join(t.TempDir(), "data"), "--allow-private", "--quiet", "--delay", "0s", "--retries", "0", site.URL}
	if _, said := freshet(t, 1, append(args, "--listen", taken)...); !strings.Contains(said, "--listen "+taken+": another program listens there") {
		t.Errorf("a taken address that was asked for: %q", said)
	}
	if _, said := freshet(t, 0, append(args, "--listen", "")...); said != "" {
		t.Errorf("no address: %q", said)
	}
}
