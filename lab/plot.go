package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Plot is curves over one pair of axes, as data.
type Plot struct {
	Title  string   `json:"title"`
	X      Axis     `json:"x"`
	Y      Axis     `json:"y"`
	Series []Series `json:"series"`
}

// Axis is what a direction of a plot stands for.
type Axis struct {
	Label string `json:"label"` // with the unit
	Log   bool   `json:"log,omitempty"`
}

// Series is a curve: points (X[i], Y[i]), in order. Points with a value that is not finite, or not
// positive on a logarithmic axis, are left out.
type Series struct {
	Name   string  `json:"name"`
	X      Numbers `json:"x"`
	Y      Numbers `json:"y"`
	Error  Numbers `json:"error,omitempty"`  // half the height of an error bar for each point, or none
	Points bool    `json:"points,omitempty"` // marks and no line
}

// Numbers are float64s of which those that are not finite are null in JSON.
type Numbers []float64

// MarshalJSON returns an array.
func (n Numbers) MarshalJSON() ([]byte, error) { return json.Marshal(finite([]float64(n))) }

// UnmarshalJSON reads an array, null as NaN.
func (n *Numbers) UnmarshalJSON(text []byte) error {
	var all []*float64
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*n = make(Numbers, len(all))
	for i, v := range all {
		if (*n)[i] = math.NaN(); v != nil {
			(*n)[i] = *v
		}
	}
	return nil
}

// Size of a plot.
const (
	plotWidth  = 6.5 * vg.Inch
	plotHeight = 4 * vg.Inch
)

// colors are told apart by most of those who don't see all of them (Okabe and Ito 2008).
var colors = [...]color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{86, 180, 233, 255}, {230, 159, 0, 255}, {0, 0, 0, 255}, {140, 120, 40, 255},
}

// SVG returns the plot as a picture. The error says which series is at fault.
func (p Plot) SVG() ([]byte, error) {
	picture := plot.New()
	picture.Title.Text = p.Title
	picture.Title.Padding = vg.Points(6)
	picture.X.Label.Text, picture.Y.Label.Text = p.X.Label, p.Y.Label
	picture.Legend.Top = true
	picture.Add(plotter.NewGrid())
	drawn := 0
	for i, s := range p.Series {
		points, err := p.points(s)
		if err != nil {
			return nil, fmt.Errorf("lab: plot %q: series %q: %w", p.Title, s.Name, err)
		}
		if len(points.XYs) == 0 {
			continue
		}
		drawn++
		if err := drawSeries(picture, s, points, i); err != nil {
			return nil, fmt.Errorf("lab: plot %q: series %q: %w", p.Title, s.Name, err)
		}
	}
	if drawn > 0 {
		setScale(&picture.X, p.X.Log)
		setScale(&picture.Y, p.Y.Log)
	}
	canvas := vgsvg.New(plotWidth, plotHeight)
	picture.Draw(draw.New(canvas))
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}

func setScale(a *plot.Axis, log bool) {
	if !log {
		return
	}
	if a.Min == a.Max {
		a.Min, a.Max = a.Min/2, a.Max*2
	}
	a.Scale, a.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
}

// seriesPoints are the points of a series that can be drawn.
type seriesPoints struct {
	plotter.XYs
	plotter.YErrors
}

func (p Plot) points(s Series) (seriesPoints, error) {
	if len(s.X) != len(s.Y) || len(s.Error) > 0 && len(s.Error) != len(s.X) {
		return seriesPoints{}, fmt.Errorf("%d x, %d y and %d errors: want as many", len(s.X), len(s.Y), len(s.Error))
	}
	var points seriesPoints
	fits := func(v float64, log bool) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) && !(log && v <= 0) }
	for i := range s.X {
		if !fits(s.X[i], p.X.Log) || !fits(s.Y[i], p.Y.Log) {
			continue
		}
		points.XYs = append(points.XYs, plotter.XY{X: s.X[i], Y: s.Y[i]})
		if len(s.Error) > 0 {
			half := s.Error[i]
			if !fits(half, false) || p.Y.Log && half >= s.Y[i] {
				half = 0
			}
			points.YErrors = append(points.YErrors, struct{ Low, High float64 }{half, half})
		}
	}
	return points, nil
}

func drawSeries(picture *plot.Plot, s Series, points seriesPoints, number int) error {
	shade := colors[number%len(colors)]
	line, marks, err := plotter.NewLinePoints(points.XYs)
	if err != nil {
		return err
	}
	line.Color, line.Width = shade, vg.Points(1.5)
	if number >= len(colors) {
		line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	marks.Color, marks.Shape, marks.Radius = shade, draw.CircleGlyph{}, vg.Points(2.5)
	switch {
	case s.Points:
		picture.Add(marks)
		picture.Legend.Add(s.Name, marks)
	case len(points.XYs) <= 20:
		picture.Add(line, marks)
		picture.Legend.Add(s.Name, line, marks)
	default:
		picture.Add(line)
		picture.Legend.Add(s.Name, line)
	}
	if len(points.YErrors) == 0 {
		return nil
	}
	bars, err := plotter.NewYErrorBars(points)
	if err != nil {
		return err
	}
	bars.Color = shade
	picture.Add(bars)
	return nil
}
