package weights_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"freshet/weights"
)

// A truth is pages and slots of which b, c and d are known, as in Wolf et al. 2002, section 5: clicks fall
// as 1/m and by a fifth with every result page; a page's slots lie around a centre of its own.
type truth struct {
	slots  []weights.Slot
	click  []float64   // c by slot
	shown  [][]float64 // b by page and slot
	wrong  []float64   // d by page
	weight []float64
}

func newTruth(rng *rand.Rand, pages int) *truth {
	t := &truth{}
	for m := range 50 {
		t.slots = append(t.slots, weights.Slot{Page: int32(m/10 + 1), Position: int32(m%10 + 1)})
		t.click = append(t.click, 0.9/float64(m+1)*math.Pow(0.8, float64(m/10)))
	}
	for range pages {
		centre, popularity := rng.IntN(50), 0.2*rng.Float64()
		b, sum := make([]float64, 50), 0.0
		for m := range b {
			b[m] = math.Exp(-float64((m-centre)*(m-centre)) / 50)
			sum += b[m]
		}
		d, w := rng.Float64(), 0.0
		for m := range b {
			b[m] *= popularity / sum
			w += d * t.click[m] * b[m]
		}
		t.shown, t.wrong, t.weight = append(t.shown, b), append(t.wrong, d), append(t.weight, w)
	}
	return t
}

// simulate lets users ask queries. Copies are stale with probability 0.4.
func (t *truth) simulate(rng *rand.Rand, queries int) *weights.Log {
	log := new(weights.Log)
	for range queries {
		log.Query()
		for i, b := range t.shown {
			s := weights.Sighting{Page: i, State: weights.Fresh}
			if rng.Float64() < 0.4 {
				s.State = weights.Stale
			}
			u := rng.Float64()
			for m, p := range b {
				if u -= p; u < 0 {
					s.Slot, s.Clicked = t.slots[m], rng.Float64() < t.click[m]
					break
				}
			}
			if s.Clicked && s.State == weights.Stale {
				s.Answer = weights.Right
				if u := rng.Float64(); u < t.wrong[i]/2 {
					s.Answer = weights.Wrong
				} else if u < t.wrong[i] {
					s.Answer = weights.Broken
				}
			}
			log.Add(s)
		}
	}
	return log
}

// The estimates find b, c and d again, each within five standard errors of a share in as many trials as
// there were, and what the prior can move it by.
func TestEstimatesFindTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const pages, queries, strength = 40, 50_000, 2
	truth := newTruth(rng, pages)
	log := truth.simulate(rng, queries)
	e := log.Estimate(strength)
	near := func(what string, got, want, trials float64) {
		t.Helper()
		if slack := 5*math.Sqrt(want*(1-want)/trials) + (5+strength)/trials; math.Abs(got-want) > slack {
			t.Errorf("%s: %v, want %v ± %v", what, got, want, slack)
		}
	}
	for m, slot := range truth.slots {
		trials := 0.0
		for i := range truth.shown {
			trials += queries * truth.shown[i][m]
		}
		near("c", e.Click(slot), truth.click[m], 0.9*trials)
	}
	for i, b := range truth.shown {
		clicks := 0.0
		for m, slot := range truth.slots {
			near("b", e.Shown(i, slot), b[m], queries)
			clicks += queries * b[m] * truth.click[m]
		}
		near("d", e.Wrong(i), truth.wrong[i], math.Max(1, 0.3*clicks))
		if i > 0 && clicks > 2000 {
			if ratio := e.Weight(i) / truth.weight[i]; math.Abs(ratio-1) > 0.2 {
				t.Errorf("weight of page %d: %v, want %v", i, e.Weight(i), truth.weight[i])
			}
		}
	}
	// Embarrassments per query: Σ w × 0.4, with the standard error of a sum of Poisson counts.
	rate := 0.0
	for _, w := range truth.weight {
		rate += 0.4 * w
	}
	if got := log.Rate(); math.Abs(got-rate) > 5*math.Sqrt(rate/queries) {
		t.Errorf("embarrassment rate %v, want %v", got, rate)
	}
	tree := log.Tree()
	if got := tree.Fresh + tree.NotReturned + tree.NotClicked + tree.Right + tree.Wrong + tree.Broken + tree.Unjudged + tree.Unknown; got != pages*queries {
		t.Errorf("%d sightings in the tree, want %d", got, pages*queries)
	}
}

// Each kind of sighting has its branch.
func TestTree(t *testing.T) {
	at := weights.Slot{Page: 1, Position: 3}
	log := new(weights.Log)
	log.Query()
	for _, s := range []weights.Sighting{
		{State: weights.Fresh},
		{State: weights.Fresh, Slot: at, Clicked: true},
		{State: weights.Stale},
		{State: weights.Stale, Slot: at},
		{State: weights.Stale, Slot: at, Clicked: true, Answer: weights.Right},
		{State: weights.Stale, Slot: at, Clicked: true, Answer: weights.Wrong},
		{State: weights.Stale, Slot: at, Clicked: true, Answer: weights.Broken},
		{State: weights.Stale, Slot: at, Clicked: true},
		{Slot: at, Clicked: true},
	} {
		log.Add(s)
	}
	want := weights.Tree{Fresh: 2, NotReturned: 1, NotClicked: 1, Right: 1, Wrong: 1, Broken: 1, Unjudged: 1, Unknown: 1}
	if got := log.Tree(); got != want || log.Rate() != 2 {
		t.Errorf("%+v at %v a query, want %+v at 2", got, log.Rate(), want)
	}
}

// A click that is told later counts as one that was told at once, and only where there was something to click.
func TestClick(t *testing.T) {
	at := weights.Slot{Page: 1, Position: 3}
	for _, outcome := range []weights.Sighting{
		{Slot: at}, {Slot: at, State: weights.Fresh}, {Slot: at, State: weights.Stale},
		{Slot: at, State: weights.Stale, Answer: weights.Right}, {Slot: at, State: weights.Stale, Answer: weights.Broken},
	} {
		var later, once weights.Log
		for _, l := range []*weights.Log{&later, &once} {
			l.Query()
			l.Add(weights.Sighting{Page: 1, Slot: weights.Slot{Page: 1, Position: 1}, State: outcome.State})
		}
		unclicked := outcome
		unclicked.Answer = weights.Unjudged
		later.Add(unclicked)
		outcome.Clicked = true
		once.Add(outcome)
		if !later.Click(outcome) {
			t.Errorf("%+v: no click", outcome)
		}
		if later.Tree() != once.Tree() || later.Estimate(2).Weight(0) != once.Estimate(2).Weight(0) || later.Estimate(2).Click(at) != once.Estimate(2).Click(at) {
			t.Errorf("%+v: later %+v, at once %+v", outcome, later.Tree(), once.Tree())
		}
		before := later.Tree()
		for name, s := range map[string]weights.Sighting{
			"twice": outcome, "a page that was not shown": {Page: 7, Slot: at, State: outcome.State},
			"another slot": {Slot: weights.Slot{Page: 2, Position: 1}}, "a slot of another page": {Slot: weights.Slot{Page: 1, Position: 1}},
		} {
			if later.Click(s) || later.Tree() != before {
				t.Errorf("%+v, %s: clicked", outcome, name)
			}
		}
	}
}

// Pages of which little is known have weights that make sense.
func TestLittleData(t *testing.T) {
	log := new(weights.Log)
	if w := log.Estimate(2).New(); w != 0 {
		t.Errorf("nothing was shown, but a page weighs %v", w)
	}
	for range 100 {
		log.Query()
		log.Add(weights.Sighting{Page: 0, Slot: weights.Slot{Page: 1, Position: 1}, Clicked: true, State: weights.Stale, Answer: weights.Wrong})
		log.Add(weights.Sighting{Page: 1, Slot: weights.Slot{Page: 1, Position: 2}, State: weights.Stale})
	}
	log.Known(4) // two more, that no query returned
	e := log.Estimate(2)
	clicked, shown, unseen := e.Weight(0), e.Weight(1), e.Weight(2)
	if !(clicked > shown && shown > unseen && unseen > 0) || e.Weight(3) != unseen {
		t.Errorf("weights %v, %v, %v, %v: want them to fall, and the last two equal", clicked, shown, unseen, e.Weight(3))
	}
	if fresh := e.New(); !(fresh > unseen && fresh < clicked) {
		t.Errorf("a new page weighs %v: want it between %v and %v", fresh, unseen, clicked)
	}
	if far := e.Click(weights.Slot{Page: 9, Position: 9}); !(far > 0 && far < 1) {
		t.Errorf("c of a slot that never occurred is %v", far)
	}
}

// Weight is d Σ c b, over all slots, whatever the log.
func TestWeightIsEquation8(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := new(weights.Log)
		slots := map[weights.Slot]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "queries") {
			log.Query()
			s := weights.Sighting{
				Page:    rapid.IntRange(0, 5).Draw(t, "page"),
				Slot:    weights.Slot{Page: rapid.Int32Range(1, 2).Draw(t, "k"), Position: rapid.Int32Range(1, 3).Draw(t, "j")},
				Clicked: rapid.Bool().Draw(t, "clicked"), State: weights.Stale,
				Answer: weights.Answer(rapid.IntRange(0, 3).Draw(t, "answer")),
			}
			slots[s.Slot] = true
			log.Add(s)
		}
		e := log.Estimate(rapid.Float64Range(0.1, 20).Draw(t, "strength"))
		for i := range log.Pages() {
			want := 0.0
			for s := range slots {
				want += e.Click(s) * e.Shown(i, s)
			}
			want *= e.Wrong(i)
			if got := e.Weight(i); math.Abs(got-want) > 1e-12*want {
				t.Fatalf("page %d: %v, want %v", i, got, want)
			}
		}
	})
}

func TestMix(t *testing.T) {
	unknown := math.NaN()
	for _, test := range []struct {
		name  string
		parts []weights.Part
		want  []float64 // nil for an error
	}{
		{"one part has mean 1", []weights.Part{{[]float64{1, 3}, 5}}, []float64{0.5, 1.5}},
		{"units do not matter", []weights.Part{{[]float64{1, 3}, 1}, {[]float64{3000, 1000}, 1}}, []float64{1, 1}},
		{"by shares", []weights.Part{{[]float64{0, 2}, 3}, {[]float64{2, 0}, 1}}, []float64{0.5, 1.5}},
		{"unknown is like all", []weights.Part{{[]float64{unknown, 2, 6}, 1}}, []float64{1, 0.5, 1.5}},
		{"all zero", []weights.Part{{[]float64{0, 0}, 1}}, []float64{1, 1}},
		{"negative", []weights.Part{{[]float64{-1, 0}, 1}}, nil},
		{"infinite", []weights.Part{{[]float64{math.Inf(1)}, 1}}, nil},
		{"share", []weights.Part{{[]float64{1}, -1}, {[]float64{1}, 2}}, nil},
		{"no share", []weights.Part{{[]float64{1}, 0}}, nil},
		{"nothing", nil, nil},
		{"lengths", []weights.Part{{[]float64{1}, 1}, {[]float64{1, 2}, 1}}, nil},
	} {
		got, err := weights.Mix(test.parts...)
		if (err != nil) != (test.want == nil) || len(got) != len(test.want) {
			t.Errorf("%s: %v, %v: want %v", test.name, got, err, test.want)
			continue
		}
		for i := range got {
			if math.Abs(got[i]-test.want[i]) > 1e-15 {
				t.Errorf("%s: %v, want %v", test.name, got, test.want)
			}
		}
	}
}

// TestPerDay holds how many queries a day a log tells of.
func TestPerDay(t *testing.T) {
	for _, test := range []struct {
		times []float64 // of queries; NaN: not told
		want  float64
	}{
		{nil, 0},
		{[]float64{math.NaN(), math.NaN()}, 2},
		{[]float64{5}, 1},
		{[]float64{7, 7, 7}, 3},
		{[]float64{43200, 0, 21600}, 6},
		{[]float64{0, math.NaN(), 2 * 86400, 86400}, 2},
		{[]float64{-86400, 0}, 2},
	} {
		var l weights.Log
		for _, at := range test.times {
			l.Query()
			if !math.IsNaN(at) {
				l.At(at)
			}
		}
		if got := l.PerDay(); got != test.want {
			t.Errorf("queries at %v: %v a day, want %v", test.times, got, test.want)
		}
		l.Until(4 * 86400)
		if got, want := l.PerDay(), float64(len(test.times))/4; len(test.times) > 0 && test.times[0] == 0 && got != want {
			t.Errorf("queries at %v of four days: %v a day, want %v", test.times, got, want)
		}
		l.Until(7.5)
		if got, want := l.PerDay(), float64(len(test.times)); got > want {
			t.Errorf("queries at %v of a part of a day: %v a day, want at most %v", test.times, got, want)
		}
	}
}
