package dashboard

import (
	"fmt"
	"math"
	"strings"
	"time"

	"freshet/dashboard/units"
)

// A chart is lines over a common axis. The template of that name draws it as SVG. All its numbers have one scale.
type chart struct {
	Title string
	Lines []line
	scale scale   // of the numbers
	axis  scale   // of the axis; nil: time
	most  float64 // upper bound of the numbers; 0: none
	marks bool    // there are few points: each has a mark and a label on the axis
}

// line is a line of a chart.
type line struct {
	Name   string
	points []point
}

type point struct{ x, y float64 }

// A scale divides an axis that ends at a number. It returns the distance of labels, and a function that prints a
// number.
type scale func(end float64) (step float64, text func(float64) string)

// The size of a drawing and its margins. It is about as wide as a phone, so that its labels can be read there. A
// wide screen shows several side by side.
const (
	chartWidth, chartHeight          = 380.0, 190.0
	chartLeft, chartRight, chartFoot = 62.0, 10.0, 24.0
	chartTop                         = 8.0
)

// drawing is a chart laid out.
type drawing struct {
	Title, Words  string // in words: the last values of the lines
	Width, Height float64
	Left, Right   float64 // where rules begin and end
	Foot          float64 // where the labels of the axis stand
	Rules         []label // across
	Marks         []label // of the axis
	Strokes       []stroke
}

type label struct {
	At     float64
	Anchor string // of a label of the axis: start, middle or end
	Text   string
}

type stroke struct {
	Number int // from 1 on
	Name   string
	Last   string // in words
	Path   string
	Dots   []point
}

// X and Y are the place of a point in a drawing.
func (p point) X() string { return fmt.Sprintf("%.1f", p.x) }

// Y is the height of a point in a drawing.
func (p point) Y() string { return fmt.Sprintf("%.1f", p.y) }

// bounds returns the least and the greatest coordinates of the points.
func (c chart) bounds() (least, most point) {
	least, most = point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, l := range c.Lines {
		for _, p := range l.points {
			least = point{min(least.x, p.x), min(least.y, p.y)}
			most = point{max(most.x, p.x), max(most.y, p.y)}
		}
	}
	return least, most
}

// heights returns the range of the numbers' axis. If all numbers are far from 0, it does not begin at 0, so that
// changes can be seen.
func (c chart) heights(least, most float64) (from, to, step float64, text func(float64) string) {
	if c.most > 0 && least > c.most/2 {
		from = least
	}
	to = most
	if to <= from {
		to = from + max(math.Abs(from)/10, 1e-3)
		if from == 0 {
			to = 1
			if c.most > 0 {
				to = c.most
			}
		}
	}
	step, _ = c.scale(to - from)
	if from > 0 {
		step = max(step, c.most/1000) // three digits are enough for labels
	}
	_, text = c.scale(to)
	from, to = math.Floor(from/step+1e-9)*step, math.Ceil(to/step-1e-9)*step
	if c.most > 0 {
		to = min(to, c.most)
	}
	return from, to, step, text
}

// Draw lays a chart out; nil if there is nothing to show yet.
func (c chart) Draw() *drawing {
	least, most := c.bounds()
	if !(most.x > least.x) {
		return nil
	}
	from, to, step, text := c.heights(least.y, most.y)
	d := &drawing{Title: c.Title, Width: chartWidth, Height: chartHeight, Left: chartLeft, Right: chartWidth - chartRight, Foot: chartHeight - 6}
	x := func(v float64) float64 {
		return chartLeft + (v-least.x)/(most.x-least.x)*(chartWidth-chartLeft-chartRight)
	}
	y := func(v float64) float64 {
		return chartTop + (1-(min(max(v, from), to)-from)/(to-from))*(chartHeight-chartTop-chartFoot)
	}
	for i := range 20 {
		if v := from + float64(i)*step; v <= to+step/1e6 {
			d.Rules = append(d.Rules, label{At: y(v), Text: text(v)})
		}
	}
	d.Marks = c.labels(least.x, most.x, x)
	var words []string
	for i, l := range c.Lines {
		s := stroke{Number: i + 1, Name: l.Name}
		var path strings.Builder
		for j, p := range l.points {
			at := point{x(p.x), y(p.y)}
			fmt.Fprintf(&path, "%c%s %s", "ML"[min(j, 1)], at.X(), at.Y())
			if c.marks {
				s.Dots = append(s.Dots, at)
			}
		}
		if n := len(l.points); n > 0 {
			s.Last = text(l.points[n-1].y)
			words = append(words, l.Name+" "+s.Last)
		}
		s.Path = path.String()
		d.Strokes = append(d.Strokes, s)
	}
	d.Words = c.Title + ": " + strings.Join(words, ", ")
	return d
}

// labels returns the labels of the axis.
func (c chart) labels(from, to float64, x func(float64) float64) (marks []label) {
	axis := c.axis
	if axis == nil {
		axis = spans
	}
	add := func(v float64, text string) {
		at := label{At: x(v), Anchor: "middle", Text: text}
		switch {
		case at.At < chartLeft+20:
			at.Anchor = "start"
		case at.At > chartWidth-chartRight-20:
			at.Anchor = "end"
		}
		marks = append(marks, at)
	}
	_, text := axis(to)
	if c.marks {
		for _, p := range c.Lines[0].points {
			add(p.x, text(p.x))
		}
		return marks
	}
	step, _ := axis(to - from)
	for v := math.Ceil(from/step-1e-9) * step; v <= to+step/1e6 && len(marks) < 12; v += step {
		add(v, text(v))
	}
	return marks
}

// labelsAtMost is how many steps an axis has, about.
const labelsAtMost = 4

// nice returns the least number that is at least v and 1, 2, 2.5 or 5 times a power of ten.
func nice(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, times := range []float64{1, 2, 2.5, 5} {
		if v <= times*power*(1+1e-9) {
			return times * power
		}
	}
	return 10 * power
}

// numbers is the scale of counts.
func numbers(end float64) (float64, func(float64) string) {
	step := nice(end / labelsAtMost)
	if end >= labelsAtMost {
		step = max(1, math.Ceil(step))
	}
	return step, amount
}

// shares is the scale of parts of a whole.
func shares(end float64) (float64, func(float64) string) { return nice(end / labelsAtMost), percent }

// sizes is the scale of bytes.
func sizes(end float64) (float64, func(float64) string) {
	return max(1, nice(end/labelsAtMost)), func(v float64) string { return units.Bytes(int64(v)) }
}

// speeds is the scale of bytes a second.
func speeds(end float64) (float64, func(float64) string) {
	step, text := sizes(end)
	return step, func(v float64) string { return text(v) + "/s" }
}

// doubled is the scale of an axis on which each step doubles a number.
func doubled(float64) (float64, func(float64) string) {
	return 1, func(v float64) string { return units.Count(int64(math.Round(math.Exp2(v)))) }
}

// lengths are the units of time that spans are printed in, with the steps that divide them.
var lengths = []struct {
	from, unit float64 // seconds
	name       string
	steps      []float64 // of the unit
}{
	{2 * 86400, 86400, "d", []float64{1, 2, 5, 10, 20, 30}},
	{2 * 3600, 3600, "h", []float64{0.5, 1, 2, 3, 6, 12}},
	{120, 60, "m", []float64{0.5, 1, 2, 5, 10, 15, 30}},
	{0, 1, "s", []float64{1, 2, 5, 10, 15, 30}},
}

// spans is the scale of lengths of time.
func spans(end float64) (float64, func(float64) string) {
	for _, l := range lengths {
		if end < l.from {
			continue
		}
		step := nice(end / l.unit / labelsAtMost)
		for i := len(l.steps) - 1; i >= 0 && step <= 30; i-- {
			if l.steps[i] >= end/l.unit/labelsAtMost {
				step = l.steps[i]
			}
		}
		step *= l.unit
		return step, func(v float64) string {
			if steps := v / step; math.Abs(steps-math.Round(steps)) > 1e-6 {
				return seconds(v)
			}
			return amount(v/l.unit) + l.name
		}
	}
	return 1, seconds
}

// paces is the scale of frequencies: a number a second, or a longer time if that is below one.
func paces(end float64) (float64, func(float64) string) {
	unit, name := 1.0, "s"
	for _, l := range []struct {
		unit float64
		name string
	}{{60, "min"}, {3600, "h"}, {86400, "day"}} {
		if end*unit < 2 {
			unit, name = l.unit, l.name
		}
	}
	return nice(end*unit/labelsAtMost) / unit, func(v float64) string { return amount(v*unit) + "/" + name }
}

// percent prints a part of a whole.
func percent(v float64) string {
	if v < 1 {
		v = min(v, 0.999) // less than all is never printed as 100 %
	}
	return amount(100*v) + " %"
}

// seconds prints a length of time as the commands do.
func seconds(v float64) string {
	return units.Span(time.Duration(min(v, math.MaxInt64/2e9) * 1e9))
}

// pace prints how often something happens: 12/s, 3.5/min.
func pace(v float64) string {
	if v == 0 {
		return "0/s"
	}
	_, text := paces(v)
	return text(v)
}

// amount prints a number with three digits, or with all digits before the point if there are more.
func amount(v float64) string {
	size := math.Abs(v)
	switch {
	case size < 0.0005:
		return "0"
	case size >= 99.95:
		return units.Count(int64(math.Round(v)))
	case size >= 9.995:
		return trimmed(fmt.Sprintf("%.1f", v))
	case size >= 0.0995:
		return trimmed(fmt.Sprintf("%.2f", v))
	}
	return trimmed(fmt.Sprintf("%.3f", v))
}

// trimmed removes the zeros at the end of a fraction.
func trimmed(number string) string {
	return strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
}
