package scheduler_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"freshet/clock"
	"freshet/feed/broadcast/scheduler"
)

// A trace is a load drawn in advance: the clients that want each chunk, and the pages that change before each
// decision.
type trace struct {
	chunks  int
	wants   [][]scheduler.Want
	changes [][]scheduler.Page // by decision
	pairs   int
}

// draw makes a trace in the proportions of the paper's base case: wants in runs of 1, 4 and 66 chunks, 36.7
// a client on average; mean intervals uniform on (0, 150 days); a decision every five minutes. Changes of
// chunks that nobody wants are left out.
func draw(chunks, subscribers, decisions int) *trace {
	rng := rand.New(rand.NewPCG(1, uint64(subscribers)))
	t := &trace{chunks: chunks, changes: make([][]scheduler.Page, decisions)}
	wanted := make([]bool, chunks)
	for range subscribers {
		has := map[int]bool{}
		for range int(max(1, math.Round(rng.ExpFloat64()*9))) {
			length := 1
			switch site := rng.IntN(100); {
			case site < 4:
				length = 66
			case site < 20:
				length = 4
			}
			first := rng.IntN(chunks/length) * length
			for i := first; i < first+length; i++ {
				has[i], wanted[i] = true, true
			}
		}
		var wants []scheduler.Want
		for _, i := range slices.Sorted(maps.Keys(has)) {
			wants = append(wants, scheduler.Want{Chunk: i})
		}
		t.wants = append(t.wants, wants)
		t.pairs += len(wants)
	}
	for i := range chunks {
		for page := range int32(15) {
			if !wanted[i] {
				break
			}
			mean := max(0.2, 2*75*288*rng.Float64())
			for at := rng.ExpFloat64() * mean; at < float64(decisions); at = math.Ceil(at) + rng.ExpFloat64()*mean {
				t.changes[int(at)] = append(t.changes[int(at)], scheduler.Page{Chunk: int32(i), Page: page})
			}
		}
	}
	return t
}

// open returns a demand in which everybody has everything.
func (t *trace) open(s scheduler.Scheduler) *scheduler.Demand {
	d := scheduler.NewDemand(s, scheduler.Options{})
	for range t.chunks {
		d.AddChunk(scheduler.Chunk{Pages: 15, Bytes: 15}, 0)
	}
	for _, wants := range t.wants {
		d.Join(scheduler.Client{}, wants, 0)
	}
	return d
}

// BenchmarkDecisions measures picks and bookkeeping for all changes of 75 days, drawn in advance. cpu-decisions/s
// counts processor time: other work on the machine moves it less than the clock.
func BenchmarkDecisions(b *testing.B) {
	for _, subscribers := range []int{1_000, 3_000} {
		t := draw(85_680, subscribers, 75*288)
		for _, c := range contenders() {
			b.Run(fmt.Sprintf("scheduler=%s/subscribers=%d", c.name, subscribers), func(b *testing.B) { t.measure(b, c.new) })
		}
	}
}

// BenchmarkGrowth is a million chunks and 100,000 subscribers, for two days.
func BenchmarkGrowth(b *testing.B) {
	t := draw(1_000_000, 100_000, 2*288)
	for _, c := range contenders() {
		b.Run("scheduler="+c.name, func(b *testing.B) { t.measure(b, c.new) })
	}
}

type contestant struct {
	name string
	new  func() scheduler.Scheduler
}

func contenders() []contestant {
	var all []contestant
	for _, kind := range scheduler.Kinds() {
		all = append(all, contestant{kind.Name, func() scheduler.Scheduler { return kind.New(scheduler.Objective{}) }})
	}
	return append(all, contestant{"lifetime-age", func() scheduler.Scheduler {
		return scheduler.NewLifetime(scheduler.Objective{Age: true})
	}})
}

func (t *trace) measure(b *testing.B, fresh func() scheduler.Scheduler) {
	var spent time.Duration
	decisions, changed := 0, 0
	var bytes uint64
	for b.Loop() {
		b.StopTimer()
		before := heapInUse()
		d := t.open(fresh())
		b.StartTimer()
		start := clock.Processor()
		for at, changes := range t.changes {
			now := float64(at) * 300
			changed += len(changes)
			d.Changes(changes, now)
			if i, ok := d.Pick(now); ok {
				d.Sent(i, now+300)
				decisions++
			}
		}
		spent += clock.Processor() - start
		b.StopTimer()
		bytes = heapInUse() - before
		runtime.KeepAlive(d)
		b.StartTimer()
	}
	b.ReportMetric(float64(decisions)/b.Elapsed().Seconds(), "decisions/s")
	b.ReportMetric(float64(decisions)/spent.Seconds(), "cpu-decisions/s")
	b.ReportMetric(float64(changed)/spent.Seconds(), "cpu-changes/s")
	b.ReportMetric(float64(bytes)/float64(t.chunks), "B/chunk")
	b.ReportMetric(float64(bytes)/float64(t.pairs), "B/pair")
	b.ReportMetric(float64(bytes)/float64(len(t.wants)), "B/client")
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
