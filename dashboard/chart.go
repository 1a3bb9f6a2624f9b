package dashboard

import (
	"fmt"
	"math"
	"strings"

	"freshet/dashboard/units"
)

// A chart is lines over a common axis, drawn as SVG by the template of that name. Its numbers have one unit.
type chart struct {
	Title string
	Lines []line
	unit  func(float64) string // of the numbers
	axis  func(float64) string // of the axis; nil: a span of time
	most  float64              // the top; 0: as the numbers ask for it
	dots  bool                 // the points are few: each is marked
}

// line is one of a chart.
type line struct {
	Name   string
	points []point
}

type point struct{ x, y float64 }

// The size of a drawing, and of the room around its lines.
const (
	chartWidth, chartHeight             = 640.0, 200.0
	chartLeft, chartBottom, chartMargin = 64.0, 24.0, 8.0
)

// drawing is a chart laid out.
type drawing struct {
	Title, Words  string // in words: what the lines end at
	Width, Height float64
	Rules         []rule // across
	Marks         []rule // of the axis
	Strokes       []stroke
}

type rule struct {
	At   float64
	Text string
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

// Draw lays a chart out; nil if there is nothing to show yet.
func (c chart) Draw() *drawing {
	low, high, top := math.Inf(1), math.Inf(-1), c.most
	for _, l := range c.Lines {
		for _, p := range l.points {
			low, high = min(low, p.x), max(high, p.x)
			if c.most == 0 {
				top = max(top, p.y)
			}
		}
	}
	if !(high > low) {
		return nil
	}
	if c.most == 0 {
		top = roundUp(top)
	}
	axis := c.axis
	if axis == nil {
		axis = seconds
	}
	d := &drawing{Title: c.Title, Width: chartWidth, Height: chartHeight}
	x := func(v float64) float64 { return chartLeft + (v-low)/(high-low)*(chartWidth-chartLeft-chartMargin) }
	y := func(v float64) float64 {
		return chartMargin + (1-min(v, top)/top)*(chartHeight-chartMargin-chartBottom)
	}
	for i := range 5 {
		part := float64(i) / 4
		d.Rules = append(d.Rules, rule{y(part * top), c.unit(part * top)})
		d.Marks = append(d.Marks, rule{x(low + part*(high-low)), axis(low + part*(high-low))})
	}
	var words []string
	for i, l := range c.Lines {
		s := stroke{Number: i + 1, Name: l.Name}
		var path strings.Builder
		for j, p := range l.points {
			at := point{x(p.x), y(max(0, p.y))}
			fmt.Fprintf(&path, "%c%s %s", "ML"[min(j, 1)], at.X(), at.Y())
			if c.dots {
				s.Dots = append(s.Dots, at)
			}
		}
		if n := len(l.points); n > 0 {
			s.Last = c.unit(l.points[n-1].y)
			words = append(words, l.Name+" "+s.Last)
		}
		s.Path = path.String()
		d.Strokes = append(d.Strokes, s)
	}
	d.Words = c.Title + ": " + strings.Join(words, ", ")
	return d
}

// roundUp returns the next of 1, 2, 4, 6, 8 and 10 times a power of ten.
func roundUp(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, times := range []float64{1, 2, 4, 6, 8} {
		if v <= times*power {
			return times * power
		}
	}
	return 10 * power
}

// What numbers of charts mean.
func percent(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) }

// seconds prints a length of time in the unit that suits it: 0.05 s, 12 s, 5 min, 13.4 h, 2.5 days.
func seconds(v float64) string {
	switch {
	case v < 60:
		return amount(v) + " s"
	case v < 3600:
		return amount(v/60) + " min"
	case v < 48*3600:
		return amount(v/3600) + " h"
	}
	return amount(v/86400) + " days"
}

func amount(v float64) string {
	if v >= 1000 {
		return units.Count(int64(math.Round(v)))
	}
	return fmt.Sprintf("%.3g", v)
}
