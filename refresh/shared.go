package refresh

import (
	"math"
	"slices"
)

const (
	day        = 86400.0
	baseHazard = 0.001 // expected shared changes a day without any visit
)

// shared is the hazard of a group's shared changes: their expected number, day by day. It is a step function. Each
// day has the prior Gamma(baseHazard·doubt, doubt), so the hazard is nearly 0 unless visits found changes. Recent
// steps are days; older ones are wider, so memory hardly grows with time.
type shared struct {
	periods []period // the earliest first, each as wide as the next or twice as wide
	days    int      // covered by the periods
	mean    float64  // hazard of a usual day
}

// alike is the largest number of periods with the same width.
const alike = 24

// A period is a number of days with the same values. Its fields hold for each of these days.
type period struct {
	start   int32   // its first day
	count   float32 // shared changes that forgotten visits found
	exposed float32 // forgotten visits whose span covers the day
	weight  float32 // visits on which the hazard rests, plus doubt
	hazard  float64
	sum     float64 // of the hazards of all days before
}

// extend adds periods for all days before n.
func (s *shared) extend(n int) {
	for s.days < n {
		s.periods = append(s.periods, period{start: int32(s.days), weight: doubt, hazard: baseHazard, sum: s.total()})
		s.days++
		s.widen()
	}
}

// widen merges the two earliest periods of a width if there are too many.
func (s *shared) widen() {
	width, n := 1, 0
	for i := len(s.periods) - 1; i >= 0; i-- {
		if w := s.end(i) - int(s.periods[i].start); w > width {
			width, n = w, 0
		}
		if n++; n > alike {
			a, b := &s.periods[i], &s.periods[i+1]
			a.count, a.exposed, a.weight = (a.count+b.count)/2, (a.exposed+b.exposed)/2, (a.weight+b.weight)/2
			a.hazard = (a.hazard + b.hazard) / 2
			s.periods = slices.Delete(s.periods, i+1, i+2)
			width, n = 2*width, 1
		}
	}
}

// end returns the day after a period's last.
func (s *shared) end(i int) int {
	if i+1 < len(s.periods) {
		return int(s.periods[i+1].start)
	}
	return s.days
}

// find returns the period of a day, which must be before days. It relies on how widen merges: of n periods of a width
// in all, those that are left are n if these are at most alike, and else alike or one less.
func (s *shared) find(d int) int {
	i, end, n, width := len(s.periods), s.days, s.days, 1
	for {
		left := n
		if n > alike {
			left = alike - (n-alike)%2
		}
		if begin := end - left*width; d < begin {
			i, end, n, width = i-left, begin, (n-left)/2, 2*width
			continue
		}
		return i - (end-d+width-1)/width
	}
}

// total returns the shared changes of all days.
func (s *shared) total() float64 {
	if len(s.periods) == 0 {
		return 0
	}
	last := &s.periods[len(s.periods)-1]
	return last.sum + last.hazard*float64(s.days-int(last.start))
}

// upTo returns the shared changes from day 0 to a time in days.
func (s *shared) upTo(t float64) float64 {
	d := int(t)
	if d >= s.days {
		return s.total() + baseHazard*(t-float64(s.days))
	}
	at := &s.periods[s.find(d)]
	return at.sum + at.hazard*(t-float64(at.start))
}

// between returns the shared changes from one time to another, in days.
func (s *shared) between(from, to float64) float64 { return s.upTo(to) - s.upTo(from) }

// average returns the mean of a total tally over a period's days. Other days count as 0.
func (s *shared) average(i int, t tally) float64 {
	sum := 0.0
	for d := max(t.first, int(s.periods[i].start)); d < min(s.end(i), t.end()); d++ {
		sum += t.sums[d-t.first]
	}
	return sum / float64(s.end(i)-int(s.periods[i].start))
}

// renew computes the hazards from day first on again, from the counts and exposures of remembered visits, which cover
// the same days, and of forgotten ones. Days after the counts do not change. It returns the sum of the changes of the
// hazards.
func (s *shared) renew(first int, count, exposed tally) (drift float64) {
	s.mean = baseHazard
	if s.days == 0 {
		return 0
	}
	begin := s.find(min(first, s.days-1))
	for i := begin; first < count.end() && i < len(s.periods) && int(s.periods[i].start) < count.end(); i++ {
		at := &s.periods[i]
		h := at.hazard
		visits := doubt + float64(at.exposed) + s.average(i, exposed)
		c := (baseHazard*doubt + float64(at.count) + h*s.average(i, count)) / visits
		drift += math.Abs(c-h) * float64(s.end(i)-int(at.start))
		at.hazard, at.weight = c, float32(visits)
	}
	s.addUp(begin)
	recent := max(0, s.days-usualDays)
	s.mean = s.between(float64(recent), float64(s.days)) / float64(s.days-recent)
	return drift
}

// keep adds the sums of visits that are being forgotten, by day: shared changes, divided by the day's hazard, and
// visits.
func (s *shared) keep(count, exposed tally) {
	for i := range s.periods {
		at := &s.periods[i]
		at.count += float32(at.hazard * s.average(i, count))
		at.exposed += float32(s.average(i, exposed))
	}
}

// see adds one visit, between two days, until the next learning from all visits together. explained is the number of
// shared changes that a unit of the hazard explains, or 0 if the visit saw no change. see returns the sum of the
// changes of the hazards.
func (s *shared) see(from, to, explained float64) (drift float64) {
	s.extend(int(to) + 1)
	begin := s.find(int(from))
	for i := begin; i < len(s.periods) && float64(s.periods[i].start) <= to; i++ {
		at := &s.periods[i]
		width := float64(s.end(i) - int(at.start))
		part := (math.Min(to, float64(s.end(i))) - math.Max(from, float64(at.start))) / width
		h, visits := at.hazard, float64(at.weight)
		c := h * (visits + part*explained) / (visits + part)
		drift += math.Abs(c-h) * width
		at.hazard, at.weight = c, float32(visits+part)
	}
	s.addUp(begin)
	return drift
}

// addUp computes the sums of the hazards again from a period on.
func (s *shared) addUp(begin int) {
	for i := begin; i+1 < len(s.periods); i++ {
		at := &s.periods[i]
		s.periods[i+1].sum = at.sum + at.hazard*float64(s.end(i)-int(at.start))
	}
}

// reaches is the number of shares that a reach distinguishes.
const reaches = 6

// A reach is the belief about which share of a group's apparent shared changes a page takes part in. It is 0 if pages
// change independently, and changed on the same day by chance. Each visit is judged by the shared changes that
// earlier visits to other pages showed.
type reach struct {
	likely [reaches]float64 // logarithms, of 0, 0.2 and so on to 1
	mean   float64
}

// newReach returns the belief before any visit: with probability one half, every page takes part in every shared
// change.
func newReach() reach {
	var r reach
	for i := range r.likely {
		r.likely[i] = math.Log(0.5 / (reaches - 1))
	}
	r.likely[reaches-1] = math.Log(0.5)
	r.normalise()
	return r
}

// see learns from a visit to a page. landed is the number of shared changes of the group since the previous visit.
// others is the number of all other expected changes of the page.
func (r *reach) see(others, landed float64, changed bool) {
	for i := range r.likely {
		expected := others + float64(i)/(reaches-1)*landed
		if changed {
			r.likely[i] += math.Log(probability(expected))
		} else {
			r.likely[i] -= expected
		}
	}
	r.normalise()
}

// longShot is the least logarithm of a share's likelihood relative to the likeliest: a group may change its
// behaviour.
const longShot = -20

// normalise shifts the logarithms so that the largest is 0, and computes the mean share.
func (r *reach) normalise() {
	top := slices.Max(r.likely[:])
	sum := 0.0
	r.mean = 0
	for i := range r.likely {
		r.likely[i] = math.Max(longShot, r.likely[i]-top)
		p := math.Exp(r.likely[i])
		sum += p
		r.mean += p * float64(i) / (reaches - 1)
	}
	r.mean /= sum
}

// A span is the time that one visit observed.
type span struct {
	from, to float32 // days
	own      float32 // changes of the page's own that were expected in it
	folder   int32
	changed  bool
}

// A tally sums weights over spans of days. It keeps differences, so each span takes constant time.
type tally struct {
	first int       // day of the first sum
	sums  []float64 // differences until total; the last two only end spans
}

// end returns the day after the last.
func (t tally) end() int { return t.first + len(t.sums) - 2 }

// add adds w to every day between two times, and part of w to a day that is only partly between them. It leaves out
// days before the first.
func (t tally) add(from, to, w float64) {
	from, to = math.Max(0, from-float64(t.first)), math.Max(0, to-float64(t.first))
	a, b := int(from), int(to)
	partA, partB := from-float64(a), to-float64(b)
	t.sums[a] += w * (1 - partA)
	t.sums[a+1] += w * partA
	t.sums[b] -= w * (1 - partB)
	t.sums[b+1] -= w * partB
}

// plus adds the differences of another tally, whose first day is not earlier.
func (t tally) plus(o tally) {
	for d, v := range o.sums {
		t.sums[o.first-t.first+d] += v
	}
}

// total turns the differences into sums, in place.
func (t tally) total() {
	sum := 0.0
	for d, v := range t.sums {
		sum += v
		t.sums[d] = sum
	}
}

// probability returns the probability 1-e^-h of an observed change, at least 1e-9.
func probability(h float64) float64 { return math.Max(1e-9, -math.Expm1(-h)) }
