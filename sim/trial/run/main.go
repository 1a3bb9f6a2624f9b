// Command run puts the shard of a crawl on trial, see package trial.
//
//	run -seed 1 -seeds 1000        tries a thousand cases
//	run -seed 17 -trace            tells all that happens in one
//	run -seed 17 -without f3,s2    … without a fault and a site
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"freshet/clock"
	"freshet/sim/trial"
)

func main() {
	seed := flag.Uint64("seed", 1, "the first seed")
	seeds := flag.Uint64("seeds", 1, "how many seeds are tried")
	days := flag.Float64("days", 2, "how long a case lasts, in days")
	trace := flag.Bool("trace", false, "tell all that happens")
	without := flag.String("without", "", "what is taken out of the case: labels of sites and faults, pages=N, names of settings")
	plant := flag.String("plant", "", "a fault to be put in: "+strings.Join(names(), ", "))
	shrink := flag.Bool("shrink", true, "shrink a case that fails")
	workers := flag.Int("workers", runtime.NumCPU(), "cases that are tried at once")
	keep := flag.Bool("keep-on", false, "go on after a failure")
	flag.Parse()
	r := runner{days: *days, plant: *plant, trace: *trace, shrink: *shrink, keepOn: *keep, kinds: map[string]int{},
		running: map[uint64]time.Time{}}
	if *without != "" {
		r.without = strings.Split(*without, ",")
	}
	debug.SetGCPercent(400) // a case is small, and leaves much behind: collecting less often saves a fifth of the time
	os.Exit(r.run(*seed, *seeds, *workers))
}

func names() (all []string) {
	for _, p := range trial.Plants {
		all = append(all, p.Name)
	}
	return all
}

type runner struct {
	days                  float64
	plant                 string
	trace, shrink, keepOn bool
	without               []string

	mu                   sync.Mutex
	tried, failed        int
	visits, lives, steps int
	kinds                map[string]int
	running              map[uint64]time.Time // seeds, by when they began
}

func (r *runner) length() time.Duration { return time.Duration(r.days * float64(24*time.Hour)) }

// run tries seeds and returns the exit code.
func (r *runner) run(first, n uint64, workers int) int {
	began := clock.Real().Now()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	go func() {
		for clock.Real().Sleep(ctx, sayEvery) == nil {
			r.say(n, clock.Real().Now())
		}
	}()
	next := make(chan uint64)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for seed := range next {
				if !r.done() {
					r.try(seed)
				}
			}
		})
	}
	for seed := first; seed < first+n && !r.done(); seed++ {
		next <- seed
	}
	close(next)
	all.Wait()
	took := clock.Real().Now().Sub(began).Seconds()
	fmt.Printf("%d seeds, %d failed; %d lives, %d steps, %d visits; %.1f seeds and %.0f visits a second\n",
		r.tried, r.failed, r.lives, r.steps, r.visits, float64(r.tried)/took, float64(r.visits)/took)
	for _, kind := range slices.Sorted(maps.Keys(r.kinds)) {
		fmt.Printf("  %s %d", kind, r.kinds[kind])
	}
	fmt.Println()
	if r.failed > 0 {
		return 1
	}
	return 0
}

func (r *runner) done() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed > 0 && !r.keepOn
}

// sayEvery is the time between two lines of progress.
const sayEvery = 30 * time.Second

// say prints how far the trial is, with the seed that has taken longest so far.
func (r *runner) say(of uint64, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("%d of %d seeds tried, %d failed", r.tried, of, r.failed)
	oldest := now
	var slow uint64
	for seed, began := range r.running {
		if began.Before(oldest) {
			oldest, slow = began, seed
		}
	}
	if took := now.Sub(oldest); took > sayEvery {
		line += fmt.Sprintf("; seed %d has taken %s so far", slow, took.Round(time.Second))
	}
	fmt.Fprintln(os.Stderr, line)
}

// try tries one seed.
func (r *runner) try(seed uint64) {
	c, err := trial.Draw(seed, r.length()).Without(r.without...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	o := trial.Options{Plant: r.plant}
	if r.trace {
		fmt.Print(c)
		o.Trace = os.Stdout
	}
	r.mu.Lock()
	r.running[seed] = clock.Real().Now()
	r.mu.Unlock()
	result := trial.Run(c, o)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, seed)
	r.tried++
	r.visits += result.Visits
	r.lives += result.Lives
	r.steps += result.Steps
	for kind, n := range result.Done {
		r.kinds[kind] += n
	}
	if result.Failure == nil {
		return
	}
	r.failed++
	r.report(c, result)
}

// report prints a failure.
func (r *runner) report(c trial.Case, result trial.Result) {
	fmt.Printf("seed %d FAILED: %v\n", c.Seed, result.Failure)
	if result.Failure.Stack != "" {
		fmt.Println(result.Failure.Stack)
	}
	fmt.Println("  replay:", r.command(c.Seed, r.without))
	if !r.shrink || r.keepOn {
		return
	}
	labels, small, again := trial.Shrink(c, trial.Options{Plant: r.plant}, result)
	fmt.Printf("  shrunk: %s\n%s", r.command(c.Seed, append(slices.Clone(r.without), labels...)), small)
	fmt.Printf("  fails: %v\n", again.Failure)
	trial.Run(small, trial.Options{Plant: r.plant, Trace: io.Writer(os.Stdout)})
}

func (r *runner) command(seed uint64, without []string) string {
	text := fmt.Sprintf("go run ./sim/trial/run -seed %d -days %g -trace", seed, r.days)
	if r.plant != "" {
		text += " -plant " + r.plant
	}
	if len(without) > 0 {
		text += " -without " + strings.Join(without, ",")
	}
	return text
}
