package lab

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The sizes of the picture, in its own pixels.
const (
	pictureWidth  = 640.0
	plotLeft      = 70.0
	plotRight     = pictureWidth - 20
	plotTop       = 40.0
	plotBottom    = 330.0
	legendTop     = 388.0
	legendRow     = 20.0
	legendColumns = 2
)

// colors can be told apart by most people with a colour vision deficiency (Okabe and Ito 2008).
var colors = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8c7828"}

// SVG returns the plot as an SVG picture, with a legend below the curves. The error names the invalid series.
func (p Plot) SVG() ([]byte, error) {
	var all points
	series := make([]points, len(p.Series))
	for i, s := range p.Series {
		var err error
		if series[i], err = p.points(s); err != nil {
			return nil, fmt.Errorf("lab: plot %q: series %q: %w", p.Title, s.Name, err)
		}
		all = append(all, series[i]...)
	}
	d := drawing{x: all.xScale(p.X.Log), y: all.yScale(p.Y.Log)}
	if len(p.X.Names) > 0 {
		d.x = scale{low: -0.6, high: float64(len(p.X.Names)) - 0.4, from: plotLeft, to: plotRight}
	}
	rows := (len(p.Series) + legendColumns - 1) / legendColumns
	below := legendTop + p.X.room()
	height := below + legendRow*float64(rows)
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" font-family="system-ui, sans-serif" font-size="12">`+"\n",
		pictureWidth, height, pictureWidth, height)
	d.printf(`<rect width="100%%" height="100%%" fill="#fff"/>` + "\n")
	d.text(pictureWidth/2, 20, "middle", ` font-size="14" font-weight="600"`, p.Title)
	d.axes(p)
	for i, s := range p.Series {
		d.curve(s, series[i], style(i))
		x := plotLeft + float64(i%legendColumns)*(plotRight-plotLeft)/legendColumns
		y := below + legendRow*float64(i/legendColumns)
		d.key(s, x, y, style(i))
	}
	d.printf("</svg>\n")
	return d.out.Bytes(), nil
}

// point is a point that can be drawn, with half the height of its error bar.
type point struct{ x, y, half float64 }

type points []point

// points returns the points of a series that can be drawn, or an error if X, Y and Error differ in length.
func (p Plot) points(s Series) (points, error) {
	if len(s.X) != len(s.Y) || len(s.Error) > 0 && len(s.Error) != len(s.X) {
		return nil, fmt.Errorf("%d x, %d y and %d errors: want as many", len(s.X), len(s.Y), len(s.Error))
	}
	var all points
	for i := range s.X {
		if !drawable(s.X[i], p.X.Log) || !drawable(s.Y[i], p.Y.Log) {
			continue
		}
		next := point{s.X[i], s.Y[i], 0}
		if len(s.Error) > 0 && drawable(s.Error[i], false) && !(p.Y.Log && s.Error[i] >= s.Y[i]) {
			next.half = s.Error[i]
		}
		all = append(all, next)
	}
	return all, nil
}

func drawable(v float64, log bool) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && !(log && v <= 0)
}

func (all points) xScale(log bool) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range all {
		low, high = min(low, p.x), max(high, p.x)
	}
	return newScale(low, high, log, plotLeft, plotRight)
}

func (all points) yScale(log bool) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range all {
		low, high = min(low, p.y-p.half), max(high, p.y+p.half)
	}
	return newScale(low, high, log, plotBottom, plotTop)
}

// scale maps values to pixels.
type scale struct {
	low, high float64 // values at the ends; their logarithms if log
	from, to  float64 // pixels there
	log       bool
	ticks     []float64
}

// newScale returns a scale from low to high, widened to whole ticks. Without any value it goes from 0 to 1, or from 1
// to 10 if it is logarithmic.
func newScale(low, high float64, log bool, from, to float64) scale {
	s := scale{from: from, to: to, log: log}
	if log {
		if low > high {
			low, high = 1, 10
		}
		first, last := math.Floor(math.Log10(low)+1e-9), math.Ceil(math.Log10(high)-1e-9)
		last = max(last, first+1)
		step := math.Ceil((last - first) / 8)
		for e := first; e <= last; e += step {
			s.ticks = append(s.ticks, math.Pow(10, e))
		}
		s.low, s.high = first, last
		return s
	}
	if low > high {
		low, high = 0, 1
	}
	if low > 0 && low < high/3 {
		low = 0
	}
	if low == high {
		low, high = low-0.5*max(1, math.Abs(low)), high+0.5*max(1, math.Abs(high))
	}
	step := niceStep((high - low) / 6)
	first, last := math.Floor(low/step+1e-9), math.Ceil(high/step-1e-9)
	for i := first; i <= last; i++ {
		s.ticks = append(s.ticks, i*step)
	}
	s.low, s.high = first*step, last*step
	return s
}

// niceStep returns the least number at or above step that is 1, 2, 2.5 or 5 times a power of ten.
func niceStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, nice := range []float64{1, 2, 2.5, 5} {
		if nice*power >= step*(1-1e-9) {
			return nice * power
		}
	}
	return 10 * power
}

func (s scale) at(v float64) float64 {
	if s.log {
		v = math.Log10(v)
	}
	return s.from + (v-s.low)/(s.high-s.low)*(s.to-s.from)
}

// drawing is a picture that is being drawn.
type drawing struct {
	out  bytes.Buffer
	x, y scale
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.out, format, args...) }

func (d *drawing) text(x, y float64, anchor, attributes, words string) {
	d.printf(`<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, attributes, html.EscapeString(words))
}

func (d *drawing) axes(p Plot) {
	for i, name := range p.X.Names {
		x := d.x.at(float64(i))
		d.printf(`<path d="M%.1f %gV%g" stroke="#e3e6ea"/>`+"\n", x, plotTop, plotBottom)
		d.text(0, 0, "end", fmt.Sprintf(` fill="#444" transform="translate(%.1f %g) rotate(-90)"`, x+4, plotBottom+8), name)
	}
	for _, tick := range d.x.ticks {
		x := d.x.at(tick)
		d.printf(`<path d="M%.1f %gV%g" stroke="#e3e6ea"/>`+"\n", x, plotTop, plotBottom)
		d.text(x, plotBottom+18, "middle", ` fill="#444"`, tickText(tick))
	}
	for _, tick := range d.y.ticks {
		y := d.y.at(tick)
		d.printf(`<path d="M%g %.1fH%g" stroke="#e3e6ea"/>`+"\n", plotLeft, y, plotRight)
		d.text(plotLeft-8, y+4, "end", ` fill="#444"`, tickText(tick))
	}
	d.printf(`<path d="M%g %gV%gH%g" fill="none" stroke="#444"/>`+"\n", plotLeft, plotTop, plotBottom, plotRight)
	d.text((plotLeft+plotRight)/2, plotBottom+38+p.X.room(), "middle", "", p.X.Label)
	d.text(0, 0, "middle", fmt.Sprintf(` transform="translate(16 %g) rotate(-90)"`, (plotTop+plotBottom)/2), p.Y.Label)
}

// room returns the extra height of the names on the axis, compared with numbers.
func (a Axis) room() float64 {
	most := 0
	for _, name := range a.Names {
		most = max(most, utf8.RuneCountInString(name))
	}
	return max(0, 6.2*float64(most)-10)
}

func tickText(v float64) string {
	if a := math.Abs(v); a >= 1e5 || a > 0 && a < 1e-3 {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	return strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64)
}

// style returns the stroke of the i-th series.
func style(i int) string {
	s := fmt.Sprintf(`stroke="%s"`, colors[i%len(colors)])
	if i/len(colors)%2 == 1 {
		s += ` stroke-dasharray="6 4"`
	}
	return s
}

// fewPoints is the largest number of points for which a line shows marks.
const fewPoints = 20

func (d *drawing) curve(s Series, all points, stroke string) {
	if !s.Points && len(all) > 0 {
		d.printf(`<polyline fill="none" stroke-width="2" %s points="`, stroke)
		for _, p := range all {
			d.printf("%.1f,%.1f ", d.x.at(p.x), d.y.at(p.y))
		}
		d.printf(`"/>` + "\n")
	}
	for _, p := range all {
		x := d.x.at(p.x)
		if p.half > 0 {
			low, high := d.y.at(p.y-p.half), d.y.at(p.y+p.half)
			d.printf(`<path d="M%.1f %.1fV%.1fM%.1f %.1fh8M%.1f %.1fh8" %s/>`+"\n", x, low, high, x-4, low, x-4, high, stroke)
		}
		if s.Points || len(all) <= fewPoints {
			d.mark(s, x, d.y.at(p.y), stroke)
		}
	}
}

// mark draws a point: a dot on a line, a ring without a line.
func (d *drawing) mark(s Series, x, y float64, stroke string) {
	if s.Points {
		d.printf(`<circle cx="%.1f" cy="%.1f" r="4.5" fill="none" stroke-width="1.5" %s/>`+"\n", x, y, stroke)
	} else {
		d.printf(`<circle cx="%.1f" cy="%.1f" r="2" fill="#fff" stroke-width="2" %s/>`+"\n", x, y, stroke)
	}
}

// key draws the legend entry of a series.
func (d *drawing) key(s Series, x, y float64, stroke string) {
	if s.Points {
		d.mark(s, x+10, y-4, stroke)
	} else {
		d.printf(`<path d="M%.1f %.1fh20" stroke-width="2" %s/>`+"\n", x, y-4, stroke)
	}
	d.text(x+28, y, "start", "", s.Name)
}

// WritePlots writes plots as SVG to file, file-2, …; to none if file is empty.
func WritePlots(plots []Plot, file string) error {
	if file == "" {
		return nil
	}
	extension := filepath.Ext(file)
	for i, p := range plots {
		name := file
		if i > 0 {
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(file, extension), i+1, extension)
		}
		picture, err := p.SVG()
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, picture, 0o666); err != nil {
			return err
		}
	}
	return nil
}
