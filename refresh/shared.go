package refresh

import (
	"math"
	"slices"
)

const (
	day        = 86400.0
	baseHazard = 0.001 // shared changes a day that are expected where nothing was seen
)

// shared is the hazard of the changes that a group's pages share: how many of them a page is expected to
// take part in, day by day. It is a step function with the prior Gamma(baseHazard·doubt, doubt) a
// day, so nearly 0 but where visits say otherwise.
type shared struct {
	hazard  []float64 // by day
	sum     []float64 // of the hazards before the day; one longer than hazard
	count   []float32 // shared changes that visits found, by day: of visits that are forgotten
	exposed []float32 // visits whose span covers the day: of visits that are forgotten
	weight  []float32 // visits that the day's hazard rests on, doubt among them
	mean    float64   // hazard of a usual day
}

// extend gives the first days, up to n, their places.
func (s *shared) extend(n int) {
	if len(s.sum) == 0 {
		s.sum = append(s.sum, 0)
	}
	for len(s.hazard) < n {
		s.hazard = append(s.hazard, baseHazard)
		s.sum = append(s.sum, s.sum[len(s.sum)-1]+baseHazard)
		s.count = append(s.count, 0)
		s.exposed = append(s.exposed, 0)
		s.weight = append(s.weight, doubt)
	}
}

// upTo returns the shared changes from day 0 to a time in days.
func (s *shared) upTo(t float64) float64 {
	d := int(t)
	if d >= len(s.hazard) {
		if len(s.sum) == 0 {
			return baseHazard * t
		}
		return s.sum[len(s.sum)-1] + baseHazard*(t-float64(len(s.hazard)))
	}
	return s.sum[d] + s.hazard[d]*(t-float64(d))
}

// between returns the shared changes from one time to another, in days.
func (s *shared) between(from, to float64) float64 { return s.upTo(to) - s.upTo(from) }

// renew takes up new counts and exposures from a day on, beside those that are forgotten. It returns by
// how much the hazards changed, in sum. Days that are later than the counts stay as they are.
func (s *shared) renew(first int, count, exposed []float64) (drift float64) {
	for d := first; d < len(count); d++ {
		h := s.hazard[d]
		visits := doubt + float64(s.exposed[d]) + exposed[d]
		c := (baseHazard*doubt + float64(s.count[d]) + h*count[d]) / visits
		drift += math.Abs(c - h)
		s.hazard[d], s.weight[d] = c, float32(visits)
	}
	s.addUp(first)
	s.mean = baseHazard
	if len(s.hazard) == 0 {
		return 0
	}
	recent := max(0, len(s.hazard)-usualDays)
	s.mean = (s.sum[len(s.hazard)] - s.sum[recent]) / float64(len(s.hazard)-recent)
	return drift
}

// see takes up one visit, from days to days, until all visits are looked at together: explained says how many
// shared changes a unit of the hazard explains, 0 if it saw none. It returns by how much the hazards changed, in sum.
func (s *shared) see(from, to, explained float64) (drift float64) {
	s.extend(int(to) + 1)
	for d := int(from); d <= int(to); d++ {
		part := math.Min(to, float64(d+1)) - math.Max(from, float64(d))
		h, visits := s.hazard[d], float64(s.weight[d])
		c := h * (visits + part*explained) / (visits + part)
		drift += math.Abs(c - h)
		s.hazard[d], s.weight[d] = c, float32(visits+part)
	}
	s.addUp(int(from))
	return drift
}

// addUp sums the hazards again from a day on.
func (s *shared) addUp(first int) {
	for d := first; d < len(s.hazard); d++ {
		s.sum[d+1] = s.sum[d] + s.hazard[d]
	}
}

// reaches is how many shares of a group's pages are told apart.
const reaches = 6

// A reach is what is believed of how far changes reach that pages of a group seem to share: which share of them a
// page has that was not visited since. It is 0 where pages change each alone, and those that changed on the same day
// did so by chance. Each visit is judged by what others had told before it.
type reach struct {
	likely [reaches]float64 // logarithms, of 0, 0.2 and so on to 1
	mean   float64
}

// newReach returns what is believed before any visit: as likely as not that all pages have every shared change.
func newReach() reach {
	var r reach
	for i := range r.likely {
		r.likely[i] = math.Log(0.5 / (reaches - 1))
	}
	r.likely[reaches-1] = math.Log(0.5)
	r.normalise()
	return r
}

// see takes up a visit to a page: landed is the changes that others of the group shared since the visit before, others
// what else was expected to have changed the page.
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

// longShot is the logarithm below which no share is believed to be, beside the likeliest: a group may change its ways.
const longShot = -20

// normalise makes the likeliest share's logarithm 0, and the mean that of the shares.
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

// A span is what one visit saw: days from to days to.
type span struct {
	from, to float32 // days
	own      float32 // changes of the page's own that were expected in it
	folder   int32
	changed  bool
}

// tally adds up weights over spans of days, in constant time a span, by their differences.
type tally []float64

// add adds w to every day from one time to another, in proportion to its part between them.
func (t tally) add(from, to, w float64) {
	a, b := int(from), int(to)
	partA, partB := from-float64(a), to-float64(b)
	t[a] += w * (1 - partA)
	t[a+1] += w * partA
	t[b] -= w * (1 - partB)
	t[b+1] -= w * partB
}

// total turns the differences from a day on into the sums, in place.
func (t tally) total(first int) {
	sum := 0.0
	for d := first; d < len(t); d++ {
		sum += t[d]
		t[d] = sum
	}
}

// probability returns 1-e^-h, at least 1e-9, of a change that was seen.
func probability(h float64) float64 { return math.Max(1e-9, -math.Expm1(-h)) }
