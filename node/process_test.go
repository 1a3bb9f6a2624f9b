package node

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"freshet/clock"
	"freshet/fleet"
	"freshet/weburl"
)

// A crawlJob is a crawl in a process of its own. A test can kill the process and measure its memory alone.
type crawlJob struct {
	Dir     string
	Resolve map[string]netip.AddrPort
	Seeds   []string
	Delay   time.Duration
	Fleet   fleet.Rule
	For     time.Duration
	PerSite int64
	Report  time.Duration // between two reports
}

// A crawlReport is the process's report on itself, a JSON line on its standard output. The first comes when the crawl
// starts, then one every Report.
type crawlReport struct {
	Status     Status
	Goroutines int
	HeapBytes  uint64
}

const crawlJobVariable = "FRESHET_CRAWL_JOB"

// start runs the job in a process of its own.
func (job crawlJob) start(b *testing.B) (*exec.Cmd, *bufio.Scanner) {
	file := b.TempDir() + "/job.json"
	text, err := json.Marshal(job)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run", "^TestCrawlProcess$", "-test.timeout", "0")
	child.Env = append(os.Environ(), crawlJobVariable+"="+file)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return child, lines
}

// report returns the process's next report, false after the last.
func report(b *testing.B, lines *bufio.Scanner) (r crawlReport, more bool) {
	for lines.Scan() {
		if len(lines.Bytes()) == 0 || lines.Bytes()[0] != '{' {
			continue // the test binary's own words
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			b.Fatal(err)
		}
		return r, true
	}
	return r, false
}

// TestCrawlProcess is the process of a crawlJob; by itself it does nothing.
func TestCrawlProcess(t *testing.T) {
	file := os.Getenv(crawlJobVariable)
	if file == "" {
		return
	}
	var job crawlJob
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &job)
	}
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Dir: job.Dir, AllowPrivate: true, Resolve: job.Resolve, UserAgent: "freshet-test", Delay: job.Delay, Fleet: job.Fleet, For: job.For, PagesPerSite: job.PerSite}
	for _, raw := range job.Seeds {
		u, err := weburl.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		opt.Seeds = append(opt.Seeds, u)
	}
	e, err := Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for t.Context().Err() == nil {
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			line, err := json.Marshal(crawlReport{e.Status(), runtime.NumGoroutine(), memory.HeapAlloc})
			if err != nil {
				t.Error(err)
			}
			fmt.Printf("%s\n", line)
			if clock.Real().Sleep(t.Context(), job.Report) != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { <-done }) // after the context's end
	if _, err := e.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
