package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"freshet/internal/adversary"
)

const (
	fairShare     = 0.95 // of its pace alone that each honest host must reach
	aloneMinutes  = 2    // most minutes of the crawl of the honest hosts alone
	stoppedByTime = 4    // exit code of a crawl that ran out of time
	grace         = 3 * time.Minute
)

// outcome is the result of a crawl.
type outcome struct {
	closing
	peak    int64                     // bytes of memory that the process held at most
	kills   int64                     // by the kernel
	died    error                     // how the process ended, if it did not end as expected
	said    string                    // the end of its standard error
	missing []string                  // honest pages that are not stored
	became  map[string]map[string]int // by kind: how many pages were not stored, by reason; "": stored
}

// run crawls the honest hosts alone, then the whole web, and returns what went wrong.
func (s *settings) run(ctx context.Context) error {
	limit, err := parseSize(s.limit)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "freshet-adversary-")
	if err != nil {
		return err
	}
	if s.keep {
		fmt.Println("data:", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	short := *s
	short.hostile, short.minutes = 0, min(s.minutes, aloneMinutes)
	fmt.Printf("%d honest hosts alone, %.1f minutes\n", s.honest, short.minutes)
	alone, err := short.crawl(ctx, filepath.Join(dir, "alone"), limit)
	if err != nil {
		return err
	}
	if fault := alone.fault(limit, nil); fault != nil {
		return fmt.Errorf("already alone: %w", fault)
	}
	fmt.Printf("%d hostile and %d honest hosts, seed %d, %.1f minutes\n", s.hostile, s.honest, s.seed, s.minutes)
	both, err := s.crawl(ctx, filepath.Join(dir, "beside"), limit)
	if err != nil {
		return err
	}
	both.print(os.Stdout, alone.Paces)
	if fault := both.fault(limit, &alone.Paces); fault != nil {
		return fault
	}
	fmt.Println("held")
	return nil
}

// crawl serves a web and crawls it once.
func (s *settings) crawl(ctx context.Context, dir string, limit int64) (*outcome, error) {
	servers, err := start("-seed", fmt.Sprint(s.seed), "-minutes", fmt.Sprint(s.minutes),
		"-hostile", fmt.Sprint(s.hostile), "-honest", fmt.Sprint(s.honest), "-kinds", s.kinds, "-delay", s.delay.String())
	if err != nil {
		return nil, err
	}
	group, err := newCgroup(limit)
	if err != nil {
		fmt.Printf("no memory cgroup can be made, so the peak of the memory is judged instead: %v\n", err)
	}
	o := &outcome{}
	err = s.freshetCrawl(ctx, dir, servers, group, o)
	o.kills = group.kills()
	if err = errors.Join(err, group.remove()); err != nil {
		_, stopping := servers.stop()
		return nil, errors.Join(err, stopping)
	}
	if o.closing, err = servers.stop(); err != nil {
		return nil, err
	}
	return o, o.look(s.freshet, dir, servers.opening)
}

// freshetCrawl runs the program under test to its end.
func (s *settings) freshetCrawl(ctx context.Context, dir string, w *servers, group *cgroup, o *outcome) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	pem, config, seeds := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "config.yaml"), filepath.Join(dir, "seeds")
	var resolve strings.Builder
	resolve.WriteString("resolve:\n")
	for name, address := range w.Resolve {
		fmt.Fprintf(&resolve, "  - %s=%s\n", name, address)
	}
	texts := map[string]string{pem: w.Authority, config: resolve.String(), seeds: strings.Join(w.Seeds, "\n") + "\n"}
	for file, text := range texts {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	duration := time.Duration(s.minutes * float64(time.Minute))
	args := []string{"crawl", "--data", filepath.Join(dir, "data"), "--config", config, "--seeds", seeds,
		"--allow-private", "--delay", s.delay.String(), "--for", duration.String(), "--listen", "", "--quiet", "--json"}
	if s.memory != "" {
		args = append(args, "--memory", s.memory)
	}
	ctx, cancel := context.WithTimeout(ctx, duration+grace)
	defer cancel()
	var said, out bytes.Buffer
	command := exec.CommandContext(ctx, s.freshet, args...)
	command.Env = append(os.Environ(), "SSL_CERT_FILE="+pem)
	command.Stdout, command.Stderr = &out, &said
	group.wrap(command)
	err := command.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !(ok && exit.ExitCode() == stoppedByTime) {
		o.died = err
	}
	if command.ProcessState == nil {
		return err
	}
	if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		o.peak = usage.Maxrss << 10
	}
	o.said = said.String()[max(0, said.Len()-4000):]
	return nil
}

// look reads the directory of a crawl: which honest pages it lacks, and what happened to the others.
func (o *outcome) look(freshet, dir string, w opening) error {
	var said bytes.Buffer
	command := exec.Command(freshet, "pages", "--data", filepath.Join(dir, "data"), "--json")
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("freshet pages: %w: %s (the crawl: %w, %d kills, %s)", err, &said, o.died, o.kills, o.said)
	}
	live := map[string]bool{}
	o.became = map[string]map[string]int{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var row struct{ URL, State, Reason string }
		if err := decoder.Decode(&row); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		why := ""
		if live[row.URL] = row.State == "live"; !live[row.URL] {
			why = strings.TrimSpace(row.State + " " + row.Reason)
		}
		_, rest, _ := strings.Cut(row.URL, "://")
		name, _, _ := strings.Cut(rest, "/")
		if o.became[w.Kinds[name]] == nil {
			o.became[w.Kinds[name]] = map[string]int{}
		}
		o.became[w.Kinds[name]][why]++
	}
	for _, url := range w.Honest {
		if !live[url] {
			o.missing = append(o.missing, url)
		}
	}
	return nil
}

// fate returns what happened to a kind's pages, the most frequent first.
func (o *outcome) fate(kind string) string {
	counts := o.became[kind]
	whys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	text := ""
	for _, why := range whys[:min(len(whys), 3)] {
		text += fmt.Sprintf("%d %s, ", counts[why], cmp.Or(why, "stored"))
	}
	return strings.TrimSuffix(text, ", ")
}

// fault returns what went wrong, or nil. alone is nil if there is no pace to compare with.
func (o *outcome) fault(limit int64, alone *adversary.Paces) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if o.kills > 0 || o.died != nil {
		fault("the crawl died (%v, %d kills for memory):\n%s", o.died, o.kills, o.said)
	}
	if o.peak > limit {
		fault("it held %d MiB, beyond the limit of %d MiB", o.peak>>20, limit>>20)
	}
	if len(o.missing) > 0 {
		fault("%d honest pages are not stored, among them %s", len(o.missing), o.missing[0])
	}
	if o.Violated > 0 {
		fault("%d requests came too soon:\n  %s", o.Violated, strings.Join(o.Violations, "\n  "))
	}
	if alone != nil && o.Paces.Least < fairShare*alone.Mean {
		fault("%s was crawled at %.1f %% of the pace alone, want %.0f %%",
			o.Paces.Slowest, 100*o.Paces.Least/alone.Mean, 100*fairShare)
	}
	return errors.Join(faults...)
}

// print prints the requests to each kind and the figures of the run.
func (o *outcome) print(out io.Writer, alone adversary.Paces) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "kind\thosts\trequests\tsent\tcut\tpages\tattacks")
	for _, k := range o.Kinds {
		fmt.Fprintf(table, "%s\t%d\t%d\t%.1f MB\t%d\t%s\t%s\n",
			k.Kind, k.Hosts, k.Requests, float64(k.Bytes)/1e6, k.Cut, o.fate(k.Kind), k.Attacks)
	}
	_ = table.Flush() // to standard output
	fmt.Fprintf(out, "memory: %d MiB at most, %d kills\n", o.peak>>20, o.kills)
	fmt.Fprintf(out, "honest hosts: %.3f requests a second each, the slowest %.3f; alone %.3f and %.3f\n",
		o.Paces.Mean, o.Paces.Least, alone.Mean, alone.Least)
	fmt.Fprintf(out, "honest pages not stored: %d; requests too soon: %d\n", len(o.missing), o.Violated)
}
