package refresh

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"freshet/change"
)

// stateVersion begins all that is written.
const stateVersion = 2

// Due returns when the page will be worth the bar, if nothing happens before.
func (x *Index) Due(id ID, now float64) Due {
	s := x.learner.must(id)
	l := &x.learner
	g := l.forest.group(s.folder)
	belief := s.evidence.Posterior(&g.prior)
	d := Due{At: now, Rate: belief.Mean(), Value: x.value(id, now, s.urgent()), Bar: x.ranking.bar}
	shared := float64(s.claimed)
	if l.options.Shared {
		shared += l.shared(g, l.days(s.seen), l.days(now))
		d.Rate += l.usual(g)
	}
	d.Stale = 1 - belief.Unchanged(math.Max(0, s.hours.Own(s.seen, now)))*math.Exp(-shared)
	soon := 0.0
	if d.Bar > 0 {
		d.Every = x.every(id, d.Bar, 0)
		soon = d.Every
		if s.urgent() > 0 {
			soon = x.every(id, d.Bar, s.urgent())
		}
	}
	if !s.out {
		d.At = math.Max(now, s.tried+soon)
	}
	return d
}

// longest is the time between two visits from which on it counts as none.
const longest = 1e5 * day

// every returns how long after its last visit the page is worth the bar if so many changes are claimed, +Inf
// for never.
func (x *Index) every(id ID, bar, claimed float64) float64 {
	tried := x.learner.pages[id].tried
	long := day / 1024
	for ; x.value(id, tried+long, claimed) < bar; long *= 2 {
		if long > longest {
			return math.Inf(1)
		}
	}
	short := long / 2
	for range 16 {
		if middle := (short + long) / 2; x.value(id, tried+middle, claimed) < bar {
			short = middle
		} else {
			long = middle
		}
	}
	return long
}

// Copy is what is believed of a page's copy.
type Copy struct {
	Stale float64 // the probability that the page has changed since it was seen last
	Age   float64 // seconds since the first such change, in expectation; 0 counts where there was none
}

// Copy returns what is believed of the page's copy now. Changes that pages share count as if they were
// spread evenly over the time since the page was seen, and so do claimed ones. O(change.Rates).
func (x *Index) Copy(id ID, now float64) Copy {
	l := &x.learner
	s := l.must(id)
	length := now - s.seen
	if !(length > 0) {
		return Copy{}
	}
	g := l.forest.group(s.folder)
	shared := float64(s.claimed)
	if l.options.Shared {
		shared += l.shared(g, l.days(s.seen), l.days(now))
	}
	var c Copy
	belief, own := s.evidence.Posterior(&g.prior), s.hours.Own(s.seen, now)
	for k, p := range belief {
		changes := change.GridRate(k)*own + shared
		stale := -math.Expm1(-changes)
		c.Stale += float64(p) * stale
		if changes > 1e-6 {
			c.Age += float64(p) * length * (1 - stale/changes)
		}
	}
	return c
}

// AppendPage appends the page's evidence, in 21 bytes, and what is believed of its hours, if anything, in 25.
func (x *Index) AppendPage(dst []byte, id ID) []byte {
	s := x.learner.must(id)
	dst = append(dst, stateVersion)
	for _, v := range s.evidence {
		dst = append(dst, logarithm(v))
	}
	if s.hours != nil {
		for _, p := range s.hours {
			dst = append(dst, logarithm(p))
		}
	}
	return dst
}

// RestorePage takes up the page's evidence and hours, and ranks it.
func (x *Index) RestorePage(id ID, state []byte) error {
	s := x.learner.must(id)
	const short, long = 1 + change.Rates, 1 + change.Rates + len(change.Timetable{})
	if len(state) != short && len(state) != long || state[0] != stateVersion {
		return fmt.Errorf("refresh: state of page %d: %d bytes, want %d or %d of version %d", id, len(state), short, long, stateVersion)
	}
	for k, b := range state[1:short] {
		s.evidence[k] = power(b)
		s.told = s.told || s.evidence[k] != 1
	}
	s.hours = nil
	if len(state) == long {
		s.hours = new(change.Timetable)
		for h := range s.hours {
			s.hours[h] = power(state[short+h])
		}
		s.hours.Normalise()
	}
	x.ranking.Again(id, x.now)
	return nil
}

// logarithm holds a number from 2^-16 to 2^16 to within 5 %; what is beyond is one of these.
func logarithm(v float32) byte {
	return byte(math.Min(math.Max(math.Round(128+8*math.Log2(float64(v))), 0), 255))
}

func power(b byte) float32 { return float32(math.Exp2((float64(b) - 128) / 8)) }

// AppendShared appends the rates that pages of any site and of each group have, and for each group and day
// how many shared changes visits found, and in how many visits: some four bytes a day.
func (x *Index) AppendShared(dst []byte, now float64) []byte {
	l := &x.learner
	dst = append(dst, stateVersion)
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(l.origin))
	dst = appendBelief(dst, &l.overall)
	groups := 0
	for _, s := range l.forest.sites {
		groups += len(s.groups)
	}
	dst = binary.AppendUvarint(dst, uint64(groups))
	for _, s := range l.forest.sites {
		count, exposed := l.found(s.groups, s.visits, l.days(now), nil)
		for i, g := range s.groups {
			dst = binary.AppendUvarint(dst, uint64(len(g.name)))
			dst = append(dst, g.name...)
			dst = appendBelief(dst, &g.prior)
			dst = binary.AppendUvarint(dst, uint64(len(g.shared.hazard)))
			for d, h := range g.shared.hazard {
				dst = binary.AppendUvarint(dst, fixed(float64(g.shared.count[d])+h*count[i][d], 256))
				dst = binary.AppendUvarint(dst, fixed(float64(g.shared.exposed[d])+exposed[i][d], 4))
			}
		}
	}
	return dst
}

// fixed returns v in units of 1/scale.
func fixed(v, scale float64) uint64 { return uint64(math.Round(math.Max(0, v) * scale)) }

func appendBelief(dst []byte, b *change.Belief) []byte {
	for _, p := range b {
		dst = binary.BigEndian.AppendUint32(dst, math.Float32bits(p))
	}
	return dst
}

// farthestOrigin is how far from time 0 day 0 may lie, in seconds: three thousand years, so that days can be counted.
const farthestOrigin = 1e11

// RestoreShared takes up what AppendShared wrote. Groups of folders that are not known are left out: add the
// pages first.
func (x *Index) RestoreShared(state []byte) error {
	d := decoder{left: state}
	if version := d.byte(); d.err == nil && version != stateVersion {
		return fmt.Errorf("refresh: shared state of version %d, want %d", version, stateVersion)
	}
	origin := math.Float64frombits(d.uint64())
	overall := d.belief()
	type restored struct {
		group  *group
		prior  change.Belief
		shared shared
	}
	var all []restored
	for groups := d.count(1); groups > 0 && d.err == nil; groups-- {
		name := d.bytes(d.count(1))
		r := restored{prior: d.belief(), shared: shared{}}
		days := d.count(2)
		r.shared.extend(days)
		for i := range days {
			r.shared.count[i] = float32(d.uvarint()) / 256
			r.shared.exposed[i] = float32(d.uvarint()) / 4
		}
		r.shared.renew(0, make([]float64, days), make([]float64, days))
		if at, ok := x.learner.forest.byName[string(name)]; ok && x.learner.forest.folders[at].group != nil {
			r.group = x.learner.forest.folders[at].group
			all = append(all, r)
		}
	}
	if d.err == nil && len(d.left) > 0 {
		d.err = errors.New("more than the groups it announces")
	}
	if d.err == nil && !(math.Abs(origin) <= farthestOrigin) {
		d.err = fmt.Errorf("day 0 at %g seconds", origin)
	}
	if d.err != nil {
		return fmt.Errorf("refresh: shared state: %w", d.err)
	}
	x.learner.origin, x.learner.overall, x.learner.begun = origin, overall, true
	for _, r := range all {
		r.group.prior, r.group.shared, r.group.inverse[0] = r.prior, r.shared, 0
	}
	for i := range x.learner.pages {
		x.ranking.Again(ID(i), x.now)
	}
	return nil
}

// A decoder reads what it is given and remembers the first fault. It never reads beyond the end.
type decoder struct {
	left []byte
	err  error
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.left) {
		d.left, d.err = nil, errors.New("truncated")
		return make([]byte, min(n, 4*change.Rates))
	}
	b := d.left[:n]
	d.left = d.left[n:]
	return b
}

func (d *decoder) byte() byte { return d.bytes(1)[0] }

func (d *decoder) uint64() uint64 { return binary.BigEndian.Uint64(d.bytes(8)) }

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.left)
	if n <= 0 {
		d.left, d.err = nil, errors.New("truncated or too large a number")
		return 0
	}
	d.left = d.left[n:]
	return v
}

// count returns a number of things that take size bytes each at least, and fit into what is left.
func (d *decoder) count(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.left)/size) {
		d.left, d.err = nil, fmt.Errorf("%d entries in %d bytes", n, len(d.left))
		return 0
	}
	return int(n)
}

// belief returns probabilities; any that is no number is a fault.
func (d *decoder) belief() (b change.Belief) {
	raw := d.bytes(4 * change.Rates)
	sum := 0.0
	for k := range b {
		b[k] = math.Float32frombits(binary.BigEndian.Uint32(raw[4*k:]))
		if !(b[k] >= 0 && b[k] <= 1) {
			d.err = fmt.Errorf("probability %v", b[k])
		}
		sum += float64(b[k])
	}
	if d.err == nil && !(sum > 0) {
		d.err = errors.New("no probabilities")
	}
	return b
}
