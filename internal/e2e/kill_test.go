package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"freshet/clock"
	"freshet/internal/sites"
)

// TestKillLoop kills one crawl at kills random instants, start-up and recovery included. verify judges the directory
// after each kill. The last run finishes. The test compares its result with the walk over the files and the servers'
// log.
func TestKillLoop(t *testing.T) {
	const (
		kills       = 50
		hosts       = 8
		delay       = 300 * time.Millisecond // longer than a start takes, so that one which forgets to wait shows
		latency     = 100 * time.Millisecond
		longestLife = 1500 * time.Millisecond // of a process: of 38 s that the crawl needs, all get some 20 done
		connections = 16
		commitGroup = 64 // pages that may be answered and not yet on disk
	)
	t.Parallel() // it waits most of the time
	t.Logf("seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))

	// One small manual under several names, so that all hosts take equally long.
	manual := install(t, "libglib2.0-doc")[0]
	served := make([]sites.Site, hosts)
	for i := range served {
		served[i] = sites.Site{Name: fmt.Sprint("gobject-", i), Root: filepath.Join(manual.Root, "gobject"), Home: "/index.html"}
	}
	log := new(sites.Log)
	servers := serve(t, 66, log, sites.Options{Latency: latency}, served...)
	data := filepath.Join(t.TempDir(), "data")
	options := []string{"--delay", delay.String(), "--connections", fmt.Sprint(connections)}

	for i := range kills {
		life := time.Duration(random.Int64N(int64(longestLife)))
		if err := killAfter(t, life, crawlArgs(data, servers, options...)); err != nil {
			t.Fatalf("kill %d (seed %d): %v", i+1, *seed, err)
		}
		if _, err := os.Stat(filepath.Join(data, "freshet.json")); errors.Is(err, fs.ErrNotExist) {
			continue // killed in its first instants, before it had made a data directory
		}
		if out, err := try(t, binary, "verify", "--data", data); err != nil {
			t.Fatalf("kill %d, %v after the start (seed %d): %v\n%s", i+1, life, *seed, err, out)
		}
	}
	crawl(t, data, servers, options...)
	run(t, binary, "verify", "--data", data)

	table := pages(t, data)
	_, all := records(t, data)
	judge(t, served, table, bodies(t, all))

	exchanges := log.Exchanges()
	repeats := sites.Repeats(exchanges)
	t.Logf("%d kills; %d requests, %d of them cut by a kill; %d pages fetched again", kills, len(exchanges), cuts(exchanges), repeats)
	if most := (connections + commitGroup) * kills; repeats > most {
		t.Errorf("%d pages were fetched again, want at most %d", repeats, most)
	}
	if cuts(exchanges) == 0 {
		t.Error("no kill cut a request: the test shows nothing of those in flight")
	}
	violations := sites.Violations(exchanges, delay)
	for _, v := range violations[:min(len(violations), 8)] {
		t.Error(v)
	}
	if len(violations) > 0 {
		t.Errorf("%d requests came too soon or at once", len(violations))
	}
}

// cuts counts the exchanges that the client's end cut short.
func cuts(exchanges []sites.Exchange) int {
	n := 0
	for _, e := range exchanges {
		if e.Cut {
			n++
		}
	}
	return n
}

// killAfter starts a freshet and kills it, without warning, after its life. A process that has ended
// by itself is an error.
func killAfter(t *testing.T, life time.Duration, args []string) error {
	var said bytes.Buffer
	command := exec.Command(binary, args...)
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		return err
	}
	sleeping := clock.Real().Sleep(t.Context(), life)
	_ = command.Process.Kill() // fails if the process has ended, which Wait tells better
	_ = command.Wait()
	if state := command.ProcessState; sleeping == nil && state.Exited() {
		return fmt.Errorf("after %v the crawl had ended by itself, %v:\n%s", life, state, last(said.Bytes()))
	}
	return sleeping
}
