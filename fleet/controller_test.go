package fleet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/sim/event"
)

// crawler is a crawl in virtual time: fetchers, a bounded queue, workers. There is always more to
// fetch than fetchers, unless sites says otherwise.
type crawler struct {
	control *Controller
	random  *rand.Rand
	fetch   func(*rand.Rand) float64 // seconds
	process func(*rand.Rand) float64
	sites   int

	events event.Queue[string]
	busy   int // workers
}

func newCrawler(t testing.TB, c Control, fetch, process func(*rand.Rand) float64) *crawler {
	control, err := NewController(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &crawler{control: control, random: rand.New(rand.NewPCG(3, 4)), fetch: fetch, process: process, sites: math.MaxInt}
	w.events.Push(1, "second")
	w.dispatch(0)
	return w
}

func (w *crawler) dispatch(now float64) {
	for w.control.active < w.sites && w.control.Open() {
		w.control.Started(now)
		w.events.Push(now+w.fetch(w.random), "fetched")
	}
}

// settle lets waiting fetchers put their pages into the queue and workers take them out.
func (w *crawler) settle(now float64) {
	for w.busy < w.control.Workers && w.busy < w.control.inside {
		w.busy++
		w.events.Push(now+w.process(w.random), "processed")
	}
}

// run lets time pass until a moment, and tells see of each second.
func (w *crawler) run(t testing.TB, until float64, see func(now float64)) {
	for {
		now, what, _ := w.events.Pop()
		switch what {
		case "fetched":
			w.control.Fetched(now)
		case "processed":
			w.control.Processed(now)
			w.busy--
		case "second":
			w.events.Push(now+1, "second")
			if m, wanted := w.control.Measure(now); wanted {
				plan, err := m.Plan(w.control.Most)
				if err != nil {
					t.Fatal(err)
				}
				w.control.Adopt(plan)
			}
			if see != nil {
				see(now)
			}
			if now >= until {
				return
			}
		}
		w.settle(now)
		w.dispatch(now)
		if a := w.control.Allowed(); a < 1 || a > w.control.Most {
			t.Fatalf("%d fetchers allowed of %d", a, w.control.Most)
		}
	}
}

// cost returns γS + L since an earlier reading.
func (r Reading) cost(since Reading, gamma float64) float64 {
	span := r.Time - since.Time
	return gamma*(r.Starved-since.Starved)/span + (r.Waited-since.Waited)*(r.Fetched-since.Fetched)/(r.Busy-since.Busy)/span
}

func exponentially(mean float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return r.ExpFloat64() * mean }
}

func always(d float64) func(*rand.Rand) float64 { return func(*rand.Rand) float64 { return d } }

// TestControllerTranscript holds what the controller does, second by second, as the processing slows
// down to a third and then becomes four times as fast.
func TestControllerTranscript(t *testing.T) {
	w := newCrawler(t, Control{Most: 40, Queue: 17, Workers: 2, Gamma: 50}, exponentially(0.1), nil)
	var b strings.Builder
	for _, phase := range []struct{ service, until float64 }{{60, 30}, {20, 60}, {80, 90}} {
		w.process = exponentially(2 / phase.service)
		fmt.Fprintf(&b, "%g pages/s\n", phase.service)
		w.run(t, phase.until, func(now float64) {
			if into := int(now) % 30; into <= 5 || into%10 == 0 {
				r := w.control.Read(now)
				fmt.Fprintf(&b, "%2.0f s  λ %4.1f  μ %4.1f  allowed %2d  queue %2d  waiting %2d  changes %d\n",
					now, r.ArrivalRate, r.ServiceRate, r.Allowed, r.Queue, r.Waiting, r.Changes)
			}
		})
	}
	if got := b.String(); got != transcript {
		t.Errorf("got\n%s\nwant\n%s", got, transcript)
	}
}

const transcript = `60 pages/s
 1 s  λ  9.7  μ 61.6  allowed  5  queue 17  waiting 19  changes 1
 2 s  λ 10.1  μ 56.9  allowed  5  queue 14  waiting  0  changes 3
 3 s  λ 10.6  μ 60.1  allowed  5  queue  9  waiting  0  changes 5
 4 s  λ 10.2  μ 62.1  allowed  7  queue  3  waiting  0  changes 8
 5 s  λ 10.4  μ 60.1  allowed  5  queue 13  waiting  0  changes 10
10 s  λ 10.0  μ 60.6  allowed  6  queue  6  waiting  0  changes 24
20 s  λ 10.7  μ 58.0  allowed  6  queue 17  waiting  1  changes 47
30 s  λ 10.1  μ 60.3  allowed  6  queue 10  waiting  0  changes 73
20 pages/s
31 s  λ 10.0  μ 51.4  allowed  5  queue 17  waiting  3  changes 74
32 s  λ 10.0  μ 46.5  allowed  4  queue 17  waiting  1  changes 75
33 s  λ 10.1  μ 41.8  allowed  4  queue 17  waiting  1  changes 75
34 s  λ 10.1  μ 37.5  allowed  4  queue 17  waiting  3  changes 75
35 s  λ 10.3  μ 34.3  allowed  3  queue 17  waiting  1  changes 76
40 s  λ  9.6  μ 22.2  allowed  2  queue 13  waiting  0  changes 81
50 s  λ 11.0  μ 20.5  allowed  2  queue 17  waiting  1  changes 95
60 s  λ 10.6  μ 18.8  allowed  3  queue 17  waiting  3  changes 115
80 pages/s
61 s  λ 10.0  μ 24.3  allowed  5  queue  2  waiting  0  changes 117
62 s  λ 11.3  μ 71.4  allowed  4  queue  1  waiting  0  changes 120
63 s  λ  9.8  μ 78.7  allowed 10  queue 13  waiting  0  changes 123
64 s  λ 10.4  μ 84.8  allowed 12  queue 17  waiting  7  changes 125
65 s  λ 10.4  μ 84.9  allowed 13  queue 17  waiting  5  changes 126
70 s  λ 10.7  μ 83.4  allowed 11  queue 17  waiting  4  changes 130
80 s  λ 10.0  μ 82.8  allowed  9  queue 10  waiting  0  changes 144
90 s  λ  9.6  μ 78.1  allowed  8  queue  8  waiting  0  changes 167
`

// TestControllerFollows holds that the number comes near the right one within a minute of any change
// of speed, and in steady state changes three times a second at most.
func TestControllerFollows(t *testing.T) {
	for _, service := range []float64{5, 30, 100, 400, 1200} {
		for _, name := range []string{"exponential", "fixed"} {
			t.Run(fmt.Sprintf("%s at %v pages a second", name, service), func(t *testing.T) {
				shape := exponentially
				if name == "fixed" {
					shape = always
				}
				w := newCrawler(t, Control{Most: 256, Queue: 32, Workers: 2}, exponentially(0.1), shape(2/service))
				w.run(t, 60, nil)
				before := w.control.Read(60)
				low, high := math.MaxInt, 0
				w.run(t, 160, func(float64) { low, high = min(low, w.control.Allowed()), max(high, w.control.Allowed()) })
				after := w.control.Read(160)
				if right := service / 10; float64(low) > right*1.5+1 || float64(high) < right/1.5 || float64(high) > 2*right+10 {
					t.Errorf("%d to %d fetchers, %v bring what is processed", low, high, right)
				}
				if changes := float64(after.Changes-before.Changes) / 100; changes > 3.1 {
					t.Errorf("%v changes a second", changes)
				}
				t.Logf("fetchers %d to %d, changes %.2f/s, starvation %.4f, cost %.3f, model's fixed %.3f", low, high,
					float64(after.Changes-before.Changes)/100, after.Starvation, after.cost(before, after.Gamma), after.Fixed.Cost)
			})
		}
	}
}

// TestControllerNeverHoldsBack holds that a crawl that its sites limit is not slowed down, also after
// a time in which the processing was slow.
func TestControllerNeverHoldsBack(t *testing.T) {
	w := newCrawler(t, Control{Most: 100, Queue: 32, Workers: 2}, exponentially(0.2), exponentially(0.001))
	w.sites = 10
	w.run(t, 60, nil)
	if pages := w.control.Read(60).Fetched; pages < 0.95*10*5*60 {
		t.Errorf("%v pages in a minute of ten busy sites, want 3,000", pages)
	}
	w.sites, w.process = 100, exponentially(0.1)
	w.run(t, 120, nil)
	if w.control.Allowed() > 20 {
		t.Errorf("%d allowed with 20 pages a second processed, 5 a fetcher", w.control.Allowed())
	}
	w.process = exponentially(0.001)
	w.run(t, 150, nil)
	before := w.control.Read(150)
	w.run(t, 180, nil)
	if pages := w.control.Read(180).Fetched - before.Fetched; pages < 0.95*100*5*30 {
		t.Errorf("%v pages in the second half minute after the processing became fast, want 15,000", pages)
	}
}

// TestControllerCost holds the cost of a crawl whose processing changes its speed to those of fixed
// fleets: auto has to be cheaper than the best of them, and than the best fixed number for each speed.
func TestControllerCost(t *testing.T) {
	const gamma = 100
	cost := func(rule Rule) float64 {
		w := newCrawler(t, Control{Rule: rule, Most: 64, Queue: 32, Workers: 2, Gamma: gamma}, exponentially(0.1), nil)
		for i, service := range []float64{80, 20, 140} {
			w.process = exponentially(2 / service)
			w.run(t, float64(i+1)*60, nil)
		}
		return w.control.Read(180).cost(Reading{}, gamma)
	}
	best, number := math.Inf(1), Rule(0)
	for _, n := range []Rule{2, 3, 5, 7, 8, 9, 10, 12, 14, 16, 20, 64} {
		if c := cost(n); c < best {
			best, number = c, n
		}
	}
	auto, static := cost(Auto), cost(Stable)
	t.Logf("auto %.2f, static %.2f, best fixed number %d %.2f, all %.2f", auto, static, number, best, cost(64))
	if !(auto < best && auto < static) {
		t.Errorf("auto %v, static %v, %d fetchers %v", auto, static, number, best)
	}
}

// TestControllerStalls holds the cost of a crawl whose processing stalls now and then, as a disk makes it: the model's
// service has no such runs, so the queue that it takes for long enough is empty more often than the model says. Auto
// has to be no more expensive than the best fixed number but for a quarter.
func TestControllerStalls(t *testing.T) {
	const gamma = 17000
	cost := func(rule Rule) (float64, Reading) {
		w := newCrawler(t, Control{Rule: rule, Most: 256, Queue: 32, Workers: 1, Gamma: gamma}, exponentially(0.01), nil)
		w.process = func(r *rand.Rand) float64 {
			if r.Float64() < 1.0/400 {
				return 0.05
			}
			return r.ExpFloat64() / 1900
		}
		w.run(t, 20, nil)
		before := w.control.Read(20)
		w.run(t, 80, nil)
		after := w.control.Read(80)
		return after.cost(before, gamma), after
	}
	best, number := math.Inf(1), Rule(0)
	for _, n := range []Rule{12, 14, 16, 18, 20, 22, 24, 28, 32, 40, 64, 100} {
		c, r := cost(n)
		t.Logf("%d: cost %.0f, starved %.3f", n, c, r.Starved/r.Time)
		if c < best {
			best, number = c, n
		}
	}
	auto, r := cost(Auto)
	t.Logf("auto %.0f, starved %.3f; best fixed number %d %.0f", auto, r.Starved/r.Time, number, best)
	if auto > 1.25*best {
		t.Errorf("auto costs %.0f, %d fetchers %.0f", auto, number, best)
	}
}

// TestControllerKeepsUp holds that auto lets as many pages be processed as the best fixed number, but for three in a
// hundred, from the first second on: of a processing that stalls, and is twice as slow in one second as in another.
func TestControllerKeepsUp(t *testing.T) {
	pages := func(rule Rule, fetch float64) (n float64) {
		for seed := range uint64(8) {
			w := newCrawler(t, Control{Rule: rule, Most: 256, Queue: 34, Workers: 2}, exponentially(fetch), nil)
			w.random = rand.New(rand.NewPCG(seed, 4))
			slow := rand.New(rand.NewPCG(seed, 5)) // the same for each rule
			pace := 1.0
			w.process = func(r *rand.Rand) float64 {
				n++
				if r.Float64() < 0.005 {
					return 0.02
				}
				return r.ExpFloat64() * 0.0006 * pace
			}
			w.run(t, 8, func(float64) { pace = 1 + slow.Float64() })
		}
		return n
	}
	for _, fetch := range []float64{0.002, 0.01} {
		best := 0.0
		for _, n := range []Rule{32, 64, 256} {
			best = max(best, pages(n, fetch))
		}
		auto := pages(Auto, fetch)
		t.Logf("fetches of %v s: auto %.0f pages, the best fixed number %.0f: %.3f", fetch, auto, best, auto/best)
		if auto < 0.97*best {
			t.Errorf("fetches of %v s: auto has %.0f pages processed, the best fixed number %.0f", fetch, auto, best)
		}
	}
}

// TestControllerUnmeasured holds that before there is a plan fetches begin as long as none waits with its page.
func TestControllerUnmeasured(t *testing.T) {
	for _, test := range []struct {
		rule Rule
		open bool
	}{{Auto, false}, {Stable, false}, {40, true}} {
		control, err := NewController(Control{Rule: test.rule, Most: 40, Queue: 3, Workers: 1}, 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			control.Started(0)
		}
		for range 3 {
			if !control.Fetched(0.1) {
				t.Errorf("%v: a fetch is not over though there is a place for its page", test.rule)
			}
		}
		if !control.Open() || control.Allowed() != 40 {
			t.Errorf("%v: %d allowed with a full queue, want all", test.rule, control.Allowed())
		}
		if control.Fetched(0.2) || control.Room() != control.Allowed()-1 {
			t.Errorf("%v: a fetch is over though its page has no place", test.rule)
		}
		if control.Open() != test.open {
			t.Errorf("%v: open is %v while a fetcher waits", test.rule, !test.open)
		}
		if !control.Processed(0.3) {
			t.Errorf("%v: a fetch is not over though its page has a place now", test.rule)
		}
		if !control.Open() {
			t.Errorf("%v: not open though none waits any more", test.rule)
		}
	}
}

// TestControllerBounds holds on any events that the number allowed is from 1 to the most, and what is
// read is sound.
func TestControllerBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Control{
			Rule: Rule(rapid.IntRange(-1, 5).Draw(t, "rule")), Most: rapid.IntRange(1, 30).Draw(t, "most"),
			Workers: rapid.IntRange(1, 4).Draw(t, "workers"), Gamma: rapid.Float64Range(0, 100).Draw(t, "gamma"),
		}
		c.Queue = c.Workers + rapid.IntRange(1, 12).Draw(t, "queue")
		control, err := NewController(c, 5)
		if err != nil {
			t.Fatal(err)
		}
		now := 5.0
		for range rapid.IntRange(1, 400).Draw(t, "events") {
			now += rapid.Float64Range(0, 0.2).Draw(t, "passed")
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				if control.Open() {
					control.Started(now)
				}
			case 1:
				if control.active > max(0, control.inside-c.Queue) {
					control.Fetched(now)
				}
			case 2:
				if control.inside > 0 {
					control.Processed(now)
				}
			case 3:
				if m, wanted := control.Measure(now); wanted {
					plan, err := m.Plan(c.Most)
					if err != nil {
						t.Fatal(err)
					}
					control.Adopt(plan)
				}
			}
			r := control.Read(now)
			if r.Allowed < 1 || r.Allowed > c.Most || c.Rule > 0 && r.Allowed != min(int(c.Rule), c.Most) {
				t.Fatalf("%d allowed", r.Allowed)
			}
			if !(r.Cost >= 0) || !(r.Starvation >= 0 && r.Starvation <= 1+1e-9) || math.IsInf(r.Cost, 1) {
				t.Fatalf("%+v", r)
			}
		}
	})
}

func TestRule(t *testing.T) {
	for text, want := range map[string]Rule{"auto": Auto, "static": Stable, "1": 1, "256": 256} {
		if got, err := ParseRule(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "Auto", "1.5", "99999999999999999999"} {
		if _, err := ParseRule(text); err == nil {
			t.Errorf("%q: parsed", text)
		}
	}
}

func TestBadControl(t *testing.T) {
	good := Control{Most: 1, Queue: 2, Workers: 1}
	if _, err := NewController(good, 0); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Control){
		"no fetchers": func(c *Control) { c.Most = 0 }, "no workers": func(c *Control) { c.Workers = 0 },
		"a short queue": func(c *Control) { c.Queue = 1 }, "gamma": func(c *Control) { c.Gamma = math.NaN() },
	} {
		c := good
		spoil(&c)
		if _, err := NewController(c, 0); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// BenchmarkController reports what a page's four events cost.
func BenchmarkController(b *testing.B) {
	c, err := NewController(Control{Most: 256, Queue: 32, Workers: 2}, 0)
	if err != nil {
		b.Fatal(err)
	}
	now := 0.0
	for b.Loop() {
		now += 1e-3
		c.Started(now)
		c.Fetched(now)
		c.Ended(now)
		c.Processed(now)
	}
}

// BenchmarkPlan solves about the largest plan that has curves.
func BenchmarkPlan(b *testing.B) {
	for b.Loop() {
		if _, err := (Model{1, 45, 31, 450}).Plan(256); err != nil {
			b.Fatal(err)
		}
	}
}

// TestPlan holds that a plan is the optimum where that is quick to find, and the best fixed number
// where it isn't, never above the most.
func TestPlan(t *testing.T) {
	small := Model{1, 8, 15, 10}
	plan, err := small.Plan(30)
	if err != nil {
		t.Fatal(err)
	}
	want, err := small.Dynamic(30)
	if err != nil || plan.Switched == nil || plan.Switched.Cost != want.Cost {
		t.Errorf("%+v, %v: want a cost of %v", plan, err, want.Cost)
	}
	for queue := range 16 {
		n := want.Rest(queue, 15)
		if n > 0 && !(queue < want.Departure[n-1] || want.Arrival[n-1] == 15) || n < 30 && queue < want.Departure[n] {
			t.Errorf("at rest with %d fetchers and a queue of %d", n, queue)
		}
	}
	for _, m := range []Model{{1, 8, 1_000_000, 10}, {1, 5000, 100, 10}} {
		if plan, err := m.Plan(6000); err != nil || plan.Switched != nil || plan.Fixed.Fetchers < 8 {
			t.Errorf("%+v: %+v, %v", m, plan, err)
		}
	}
	if plan, err := (Model{1, 800, 10, 10}).Plan(5); err != nil || plan.Fixed.Fetchers != 5 || plan.Switched.Fetchers != 5 {
		t.Errorf("%+v, %v: want at most 5 fetchers", plan, err)
	}
	if _, err := small.Plan(0); err == nil {
		t.Error("planned for no fetchers")
	}
}

// TestConsumer holds when a consumer rests. It has worked for two seconds, and its queue is not empty.
func TestConsumer(t *testing.T) {
	for _, c := range []struct {
		name    string
		starves float64 // from then on; the workers are busy before
		rests   []float64
	}{
		{"workers starve", 0, []float64{2}},
		{"workers starve later", 5, []float64{2, 2, 2, 2, 2}},
		{"workers are busy", 1000, []float64{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			control, err := NewController(Control{Most: 8, Queue: 2, Workers: 1}, 0)
			if err != nil {
				t.Fatal(err)
			}
			control.Started(0)
			control.Fetched(0)
			control.Worked("index", 2, 700, 0)
			var rests []float64
			for now, busy := 0.0, true; ; {
				if busy && now >= c.starves {
					control.Processed(c.starves)
					busy = false
				}
				rest := control.Rest("index", now)
				if rest == 0 {
					break
				}
				rests = append(rests, rest)
				now += rest
			}
			if !slices.Equal(rests, c.rests) {
				t.Errorf("it rests for %v, want %v", rests, c.rests)
			}
			if all := control.Read(100).Consumers; !slices.Equal(all, []Consumer{{"index", 700}}) {
				t.Errorf("the consumers are %v", all)
			}
		})
	}
}
