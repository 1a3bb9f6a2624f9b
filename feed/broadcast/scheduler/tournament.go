package scheduler

import "math"

// A curve is a key that changes with time: bend·x² + slope·x + level, x = now - from.
type curve struct {
	bend, slope, level, from float64
}

// at returns the key at now.
func (c curve) at(now float64) float64 {
	x := now - c.from
	return (c.bend*x+c.slope)*x + c.level
}

// overtakes returns the first instant after now at which c is above other; +Inf if there is none. c must not be
// above other at now.
func (c curve) overtakes(other curve, now float64) float64 {
	// The difference is a polynomial in the time from now: bend·y² + slope·y + level, level <= 0.
	bend := c.bend - other.bend
	slope := 2*c.bend*(now-c.from) + c.slope - 2*other.bend*(now-other.from) - other.slope
	level := c.at(now) - other.at(now)
	if bend == 0 {
		if slope <= 0 {
			return math.Inf(1)
		}
		return now - level/slope
	}
	discriminant := slope*slope - 4*bend*level
	if discriminant < 0 || bend < 0 && slope <= 0 {
		return math.Inf(1)
	}
	// The root where the difference becomes positive, in the form without cancellation.
	root := math.Sqrt(discriminant)
	if slope > 0 {
		return now - 2*level/(slope+root)
	}
	return now + (root-slope)/(2*bend)
}

// A tournament finds the largest of many keys that change with time, exactly. It is a kinetic tournament tree
// (Basch, Guibas, Hershberger 1999). Each node holds the winner of its two halves and the first instant at which a
// match below it may have another winner. Setting a curve plays the log n matches above it again. Asking for the
// top visits only matches whose instant has passed.
//
// How many are those? A node's winner changes as often as the upper envelope of the curves below it has pieces. m
// lines that are set and removed have at most O(m α(m)) pieces, m parabolas O(m 2^α(m)) (Sharir and Agarwal 1995).
// So setting m curves causes O(m α(m) log n) changes in all, and finding each takes at most log n steps. A step
// costs O(log² n) on average. Time in which no winner changes costs nothing. Memory: about 56 bytes a curve.
type tournament struct {
	curves []curve // by id; a power of two of them
	nodes  []match // the children of i are 2i and 2i+1; from len(curves) on they are the leaves
}

type match struct {
	until  float64
	winner int32 // -1 if nobody plays
}

// set gives id a curve from now on.
func (t *tournament) set(id int, c curve, now float64) {
	for id >= len(t.curves) {
		t.grow(now)
	}
	t.curves[id] = c
	t.enter(id, int32(id), now)
}

// remove removes id.
func (t *tournament) remove(id int, now float64) {
	if id < len(t.curves) && t.nodes[len(t.curves)+id].winner >= 0 {
		t.enter(id, -1, now)
	}
}

func (t *tournament) enter(id int, winner int32, now float64) {
	i := len(t.curves) + id
	t.nodes[i] = match{math.Inf(1), winner}
	for i /= 2; i > 0; i /= 2 {
		t.play(i, now)
	}
}

// play plays the match of node i at now, between the winners below it. If a match below it is overdue, this one is
// marked as overdue too, and the next advance plays both.
func (t *tournament) play(i int, now float64) {
	left, right := t.nodes[2*i], t.nodes[2*i+1]
	result := match{min(left.until, right.until), left.winner}
	switch {
	case left.winner < 0:
		result.winner = right.winner
	case right.winner >= 0:
		a, b := t.curves[left.winner], t.curves[right.winner]
		if a.at(now) >= b.at(now) {
			result.until = min(result.until, b.overtakes(a, now))
		} else {
			result.winner = right.winner
			result.until = min(result.until, a.overtakes(b, now))
		}
	}
	t.nodes[i] = result
}

// top returns the id of the largest key at now, the lowest of equal ones. ok is false if there are no curves.
func (t *tournament) top(now float64) (id int, ok bool) {
	if len(t.curves) == 0 {
		return 0, false
	}
	t.advance(1, now)
	winner := t.nodes[1].winner
	return int(winner), winner >= 0
}

func (t *tournament) advance(i int, now float64) {
	if i >= len(t.curves) || t.nodes[i].until > now {
		return
	}
	t.advance(2*i, now)
	t.advance(2*i+1, now)
	t.play(i, now)
}

func (t *tournament) grow(now float64) {
	old := *t
	size := max(2, 2*len(old.curves))
	t.curves = append(make([]curve, 0, size), old.curves...)[:size]
	t.nodes = make([]match, 2*size)
	for id := range size {
		t.nodes[size+id] = match{math.Inf(1), -1}
		if id < len(old.curves) {
			t.nodes[size+id] = old.nodes[len(old.curves)+id]
		}
	}
	for i := size - 1; i > 0; i-- {
		t.play(i, now)
	}
}
