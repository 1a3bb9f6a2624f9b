package growth

import (
	"fmt"

	"freshet/lab"
)

// promisedAt is the number of known URLs that the promises are for.
const promisedAt = 100_000_000

// report plots the findings. If the set has grown to promisedAt, it checks the promises.
func report(out *lab.Result, found []finding) {
	plotRates(out, found)
	plotBytes(out)
	if largest := found[len(found)-1].known; largest >= promisedAt {
		claims(out, found, largest)
	}
}

// claims checks the findings at the largest size against the promises.
func claims(out *lab.Result, found []finding, largest uint64) {
	of := func(way, stream string) (rate float64) {
		for _, f := range found {
			if f.known == largest && f.way == way && f.stream == stream {
				rate = f.rate()
			}
		}
		return rate
	}
	claim := func(stream string, asked float64) {
		rate := of(byFreshet, stream)
		out.Claim(fmt.Sprintf("stream %s: at least %.0f URLs/s of one processor", stream, asked), rate >= asked,
			"%.0f with %d known", rate, largest)
	}
	claim("recent", 1e6)
	claim("uniform", 3e5)
	for _, against := range []struct {
		way   string
		asked float64
	}{{bySorted, 3}, {byGet, 20}, {byGetAll, 20}} {
		for _, stream := range []string{"recent", "uniform"} {
			theirs := of(against.way, stream)
			if theirs == 0 {
				continue
			}
			times := of(byFreshet, stream) / theirs
			out.Claim(fmt.Sprintf("stream %s: at least %.0f times as fast as %s", stream, against.asked, against.way), times >= against.asked,
				"%.1f times, with %d known", times, largest)
		}
	}
	for _, bound := range []struct {
		column, what string
		most         float64
	}{{"memory_bytes_per_url", "memory", 2}, {"disk_bytes_per_url", "disk", 8}} {
		all := column(out, bound.column)
		if n := len(all.Y); n > 0 {
			out.Claim(fmt.Sprintf("at most %.0f bytes of %s a known URL", bound.most, bound.what), all.Y[n-1] <= bound.most,
				"%.2f with %d known", all.Y[n-1], largest)
		}
	}
}

// plotRates plots all rates by the URLs known.
func plotRates(out *lab.Result, found []finding) {
	plot := lab.Plot{Title: "URLs decided a second of one processor",
		X: lab.Axis{Label: "known URLs", Log: true}, Y: lab.Axis{Label: "URLs/s", Log: true}}
	at := map[string]int{} // in the plot's series
	for _, f := range found {
		name := f.way + ": " + f.stream
		i, ok := at[name]
		if !ok {
			i = len(plot.Series)
			at[name] = i
			plot.Series = append(plot.Series, lab.Series{Name: name})
		}
		s := &plot.Series[i]
		s.X, s.Y = append(s.X, float64(f.known)), append(s.Y, f.rate())
	}
	out.Plot(plot)
}

// plotBytes plots what a known URL takes.
func plotBytes(out *lab.Result) {
	plot := lab.Plot{Title: "Bytes a known URL", X: lab.Axis{Label: "known URLs", Log: true}, Y: lab.Axis{Label: "bytes", Log: true}}
	for _, c := range []struct{ column, name string }{
		{"memory_bytes_per_url", "memory, buffers included"},
		{"filter_bytes_per_url", "memory, the filter alone"},
		{"disk_bytes_per_url", "disk"},
		{"peak_disk_bytes_per_url", "disk, at its peak"},
	} {
		s := column(out, c.column)
		s.Name = c.name
		plot.Series = append(plot.Series, s)
	}
	out.Plot(plot)
}

// column returns a column of the rows by the URLs known.
func column(out *lab.Result, name string) (s lab.Series) {
	for _, row := range out.Rows {
		if v, ok := row.Get(name).(float64); ok {
			s.X, s.Y = append(s.X, float64(row.Get("known").(int))), append(s.Y, v)
		}
	}
	return s
}
