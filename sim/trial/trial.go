package trial

import (
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"runtime/debug"
	"strconv"
	"time"

	"freshet/sim/event"
)

// A Failure is a condition that did not hold.
type Failure struct {
	Check string // its name
	At    time.Duration
	Text  string
	Stack string // of a panic
}

// Error says when, what and why.
func (f *Failure) Error() string { return fmt.Sprintf("%v: %s: %s", clockOf(f.At), f.Check, f.Text) }

// Result is what became of a trial.
type Result struct {
	Failure  *Failure // nil: all held
	Visits   int      // requests for pages
	Requests int
	Lives    int
	Steps    int
	Trace    uint64 // a digest of it
	Done     map[string]int
}

// Options configure a trial.
type Options struct {
	Plant string    // of Plants; "": none
	Trace io.Writer // hears of each event and decision; nil: nobody
}

// Run carries out a case.
func Run(c Case, o Options) (result Result) {
	t := &trial{c: &c, web: newWeb(&c), plant: o.Plant, out: o.Trace, digest: fnv.New64a()}
	t.result.Done = map[string]int{}
	defer func() {
		result = t.result
		result.Trace = t.digest.Sum64()
		switch p := recover().(type) {
		case nil:
		case *Failure:
			result.Failure = p
		default:
			result.Failure = &Failure{"panic", t.now, fmt.Sprint(p), string(debug.Stack())}
		}
		if result.Failure != nil {
			t.trace("FAILED %s: %s", result.Failure.Check, result.Failure.Text)
		}
		t.abandon()
	}()
	t.run()
	return t.result
}

// trial is a case that is being carried out.
type trial struct {
	c     *Case
	web   *web
	plant string
	node  *node
	watch watch
	disk  disk

	now    time.Duration // the truth
	skew   time.Duration // by which the machine's clock is wrong
	events event.Queue[func()]
	ended  bool // the last life is over
	calm   bool // no fault is at work any more

	out    io.Writer
	line   []byte // the last of the trace
	digest hash.Hash64
	result Result
}

// epoch is when a trial begins.
var epoch = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// clock returns what the machine's clock says.
func (t *trial) clock() time.Time { return epoch.Add(t.now + t.skew) }

// at has something done at a time. Nanoseconds fit a float64 for a hundred days.
func (t *trial) at(when time.Duration, do func()) { t.events.Push(float64(max(when, t.now)), do) }

func (t *trial) after(d time.Duration, do func()) { t.at(t.now+d, do) }

// draw returns a number in [0, 1) that depends on the case's seed and on what it is for alone.
func (t *trial) draw(what string, n int) float64 {
	h := t.c.Seed
	for i := range len(what) {
		h = mix(h ^ uint64(what[i]))
	}
	return float64(mix(h^uint64(n))>>11) / (1 << 53)
}

// mix is the finaliser of splitmix64.
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// some returns a duration of that size: half of it to twice as much.
func (t *trial) some(d time.Duration, what string, n int) time.Duration {
	return time.Duration(float64(d) * (0.5 + 1.5*t.draw(what, n)))
}

// trace writes a line.
func (t *trial) trace(format string, args ...any) {
	line := append(appendClock(t.line[:0], t.now), ' ')
	line = append(fmt.Appendf(line, format, args...), '\n')
	t.digest.Write(line)
	if t.out != nil {
		_, _ = t.out.Write(line)
	}
	t.line = line
}

// clockOf returns a time of a trial for people.
func clockOf(d time.Duration) string { return string(appendClock(nil, d)) }

func appendClock(to []byte, d time.Duration) []byte {
	to = append(strconv.AppendInt(to, int64(d/(24*time.Hour)), 10), '+')
	return epoch.Truncate(24*time.Hour).Add(d).AppendFormat(to, "15:04:05.000000")
}

// fail ends the trial.
func (t *trial) fail(check, format string, args ...any) {
	panic(&Failure{Check: check, At: t.now, Text: fmt.Sprintf(format, args...)})
}

// must ends the trial because of an error that is none of the case's.
func (t *trial) must(err error) {
	if err != nil {
		t.fail("error", "%v", err)
	}
}

const (
	mostSteps = 3_000_000 // of a trial: a shard that steps more turns on the spot
	mostAtOne = 20_000    // steps at one moment
	patience  = 6 * time.Hour
)

// run lets time pass until the last life is over.
func (t *trial) run() {
	t.watch = newWatch(t)
	t.disk = newDisk()
	for i := range t.c.Faults {
		f := &t.c.Faults[i]
		t.at(f.At, func() { t.strike(f) })
	}
	t.at(t.c.Calm(), func() {
		t.calm = true
		t.trace("calm")
		if t.node == nil {
			t.start()
		} else {
			t.node.lift()
		}
	})
	t.at(t.c.Length, t.finish)
	t.start()
	for at, steps := time.Duration(-1), 0; !t.ended; {
		t.next()
		if t.now != at {
			at, steps = t.now, 0
		}
		if steps++; steps > mostAtOne {
			t.fail("spins", "%d steps and more at one moment", mostAtOne)
		}
		if t.result.Steps > mostSteps {
			t.fail("spins", "%d steps and more in all", mostSteps)
		}
		if t.now > t.c.Length+patience {
			t.fail("ends", "asked to end at %v, the crawl has not", t.c.Length)
		}
	}
	t.watch.summary()
}

// finish ends the last life, after a while if it has to begin yet.
func (t *trial) finish() {
	if t.node == nil {
		t.start()
		t.after(time.Hour, t.finish)
		return
	}
	t.node.stop(func() { t.ended = true })
}

// next lets the next thing happen: an event, or the time at which the shard wants to be called.
func (t *trial) next() {
	at, any := t.events.Next()
	if n := t.node; n != nil && n.wakes && (!any || n.wake < time.Duration(at)) {
		t.now = max(t.now, n.wake)
		n.step()
		return
	}
	if !any {
		t.ended = true
		return
	}
	_, do, _ := t.events.Pop()
	t.now = max(t.now, time.Duration(at))
	do()
}

// rested reports whether it was calm for so long that all that could be done is done.
func (t *trial) rested() bool { return t.calm && t.now-t.c.Calm() > 20*time.Hour }

// start begins a life.
func (t *trial) start() {
	if t.node != nil || t.ended {
		return
	}
	t.result.Lives++
	t.node = newNode(t)
	t.node.open()
}

// abandon drops what a trial holds.
func (t *trial) abandon() {
	defer func() { _ = recover() }() // of a failed trial's shard or store
	if t.node != nil {
		t.node.close()
	}
}
