package replay

import (
	"context"
	"math"
	"math/rand/v2"

	"freshet/refresh"
)

// Rules are the options of a run.
type Rules struct {
	Rate         float64    // crawls a second
	Hidden       bool       // only a crawl detects that a page is removed
	LastModified bool       // a visit that sees a change also says when the last one was
	Found        bool       // a visit to another page finds a new page, whose first copy costs a crawl
	Fail         float64    // the share of crawls that fail
	Taught       bool       // until the scored part begins, every page is also visited daily, at no cost
	Random       *rand.Rand // draws the failures
}

// full returns r with the rules of the full protocol.
func (r Rules) full() Rules {
	r.Hidden, r.Found, r.Fail = true, true, 0.1
	return r
}

// A Score is the score of a policy over the scored part of the window.
type Score struct {
	Fresh  float64 // seconds in which the copy equals the page
	Alive  float64 // seconds in which the page is there
	Age    float64 // seconds² of age
	Crawls float64
}

// Freshness returns the part of time in which copies were fresh.
func (s Score) Freshness() float64 { return s.Fresh / s.Alive }

// MeanAge returns the mean age of the copies in seconds. A fresh copy has age 0.
func (s Score) MeanAge() float64 { return s.Age / s.Alive }

// Add adds o times weight to s.
func (s *Score) Add(o Score, weight float64) {
	s.Fresh += weight * o.Fresh
	s.Alive += weight * o.Alive
	s.Age += weight * o.Age
	s.Crawls += o.Crawls
}

// Parts is the number of equal parts of the scored time.
const Parts = 12

// Reached is the result of a run.
type Reached struct {
	Pages []Score      // of every page
	Parts [Parts]Score // of each part of the scored time, over all pages by their weights
}

// A copy is the crawler's copy of a page.
type copied struct {
	there   bool
	next    int     // the first update that it lacks, in the page's Updates
	noise   int     // the same of its Noise
	counted float64 // the time up to which it is scored
	score   Score
}

// Run runs a policy over the world: evenly spaced slots, one crawl each. It passes the weights to the policy; nil
// stands for 1 for every page. If ctx ends, Run returns its error.
func Run(ctx context.Context, w *World, policy refresh.Policy, weights []float64, rules Rules) (Reached, error) {
	r := &run{World: w, policy: policy, rules: rules, weights: weights, copies: make([]copied, len(w.Lives)),
		way: newWay(w)}
	if p, ok := policy.(finder); ok {
		p.Find(w.find())
	}
	births := w.byTime(func(l Life) float64 { return l.Born })
	taught := 0 // days
	deaths := w.byTime(func(l Life) float64 { return l.End })
	for k := 0; ; k++ {
		now := (float64(k) + 0.5) / rules.Rate
		if now >= w.Window {
			break
		}
		if k%1024 == 0 && ctx.Err() != nil {
			return Reached{}, ctx.Err()
		}
		// A page may come and go between two slots: births up to its end come first.
		for ; deaths[0].at <= now; deaths = deaths[1:] {
			births = r.enter(births, deaths[0].at)
			r.leave(deaths[0].id)
		}
		births = r.enter(births, now)
		if today := int(now / day); rules.Taught && today > taught && now < w.Window-w.Score {
			taught = today
			r.teach(now)
		}
		if id, ok := r.next(now); ok {
			r.visit(id, now)
		}
	}
	reached := Reached{Pages: make([]Score, len(w.Lives))}
	for i := range r.copies {
		r.count(refresh.ID(i), w.Lives[i].End)
		reached.Pages[i] = r.copies[i].score
	}
	reached.Parts = r.parts
	return reached, nil
}

type run struct {
	*World
	policy  refresh.Policy
	rules   Rules
	weights []float64
	copies  []copied
	way     way
	parts   [Parts]Score
}

func (r *run) weight(id refresh.ID) float64 {
	if r.weights == nil {
		return 1
	}
	return r.weights[id]
}

// next returns the page of a slot: one that was found, else the one that the policy names.
func (r *run) next(now float64) (refresh.ID, bool) {
	if id, ok := r.way.found(); ok {
		return id, true
	}
	id, _, ok := r.policy.Next(now)
	return id, ok
}

// enter adds the pages born up to a time, each with a fresh copy. With Rules.Found, visits have to find them first.
func (r *run) enter(births []event, until float64) []event {
	for ; len(births) > 0 && births[0].at <= until; births = births[1:] {
		id := births[0].id
		life := &r.Lives[id]
		r.copies[id].counted = life.Born
		if r.rules.Found && life.Born > 0 {
			r.way.born(id)
		} else {
			r.take(id, life.Born)
		}
	}
	return births
}

// take adds a page, which now has a copy, to the policy.
func (r *run) take(id refresh.ID, now float64) {
	life := &r.Lives[id]
	r.copies[id].there = true
	if r.rules.Found {
		r.way.know(id)
	}
	r.policy.Add(id, refresh.Page{Site: life.Site, Path: life.Path, Weight: r.weight(id), Fresh: now})
}

// leave scores a removed page and reports it to the policy.
func (r *run) leave(id refresh.ID) {
	r.count(id, r.Lives[id].End)
	if !r.rules.Hidden {
		r.policy.Remove(id)
	}
}

// visit crawls a page.
func (r *run) visit(id refresh.ID, now float64) {
	life, c := &r.Lives[id], &r.copies[id]
	if now >= r.Window-r.Score {
		c.score.Crawls++
	}
	switch failed := r.rules.Fail > 0 && r.rules.Random.Float64() < r.rules.Fail; {
	case failed && c.there:
		r.policy.Visited(id, refresh.Visit{At: now, Outcome: refresh.Unknown})
		return
	case failed:
		r.way.again(id)
		return
	case now >= life.End && c.there:
		r.policy.Remove(id)
		if r.rules.Found {
			r.way.gone(id)
		}
		return
	case now >= life.End:
		return
	}
	r.count(id, now)
	if r.rules.Found {
		r.way.look(id)
	}
	before := c.next + c.noise
	for c.next < len(life.Updates) && life.Updates[c.next] <= now {
		c.next++
	}
	for c.noise < len(life.Noise) && life.Noise[c.noise] <= now {
		c.noise++
	}
	if !c.there {
		r.take(id, now)
		return
	}
	visit := refresh.Visit{At: now, Outcome: refresh.Unchanged}
	if c.next+c.noise > before {
		visit.Outcome = refresh.Changed
		if r.rules.LastModified {
			visit.Modified = max(last(life.Updates[:c.next]), last(life.Noise[:c.noise]))
		}
	}
	r.policy.Visited(id, visit)
}

// last returns the last of times, or 0 if there is none.
func last(times []float64) float64 {
	if len(times) == 0 {
		return 0
	}
	return times[len(times)-1]
}

// teach visits every page that has a copy.
func (r *run) teach(now float64) {
	for i := range r.copies {
		if r.copies[i].there && r.Lives[i].End > now {
			r.visit(refresh.ID(i), now)
		}
	}
}

// count scores a page's copy up to a time, before a crawl at that time renews it.
func (r *run) count(id refresh.ID, until float64) {
	life, c := &r.Lives[id], &r.copies[id]
	from := math.Max(c.counted, r.Window-r.Score)
	if c.counted = until; until <= from {
		return
	}
	stale := until // since when
	if !c.there {
		stale = life.Born
	} else if c.next < len(life.Updates) {
		stale = math.Min(until, life.Updates[c.next])
	}
	c.score.Add(stretch(from, until, stale), 1)
	for weight := r.weight(id); from < until; {
		part := min(Parts-1, int((from-(r.Window-r.Score))/(r.Score/Parts)))
		end := until
		if part < Parts-1 {
			end = math.Min(until, r.Window-r.Score+float64(part+1)*r.Score/Parts)
		}
		if end <= from { // by rounding
			break
		}
		r.parts[part].Add(stretch(from, end, stale), weight)
		from = end
	}
}

// stretch scores a copy between two times. It is stale from stale on.
func stretch(from, until, stale float64) Score {
	stale = math.Min(stale, until)
	begin := math.Max(stale, from)
	// ∫ (t - stale) dt from begin to until
	age := (until - begin) * ((until - stale) + (begin - stale)) / 2
	return Score{Alive: until - from, Fresh: begin - from, Age: age}
}
