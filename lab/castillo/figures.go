package castillo

import (
	"fmt"

	"freshet/lab"
)

// plot draws Figures 5 and 6, with one plot per number of fetchers, and Figures 10 to 12.
func (b *bench) plot(connections []int) {
	for _, r := range connections {
		p := lab.Plot{Title: fmt.Sprintf("%s, r = %d (Figures 5, 6): PageRank by pages fetched", b.web, r),
			X: lab.Axis{Label: "share of the pages"}, Y: lab.Axis{Label: "share of the PageRank"}}
		for i, l := range b.lines {
			if l.connections == r {
				p.Series = append(p.Series, b.curves[i])
			}
		}
		b.out.Plot(p)
	}
	if b.days != nil {
		b.progress(b.days)
		b.depths(b.days)
	}
}

const daysOfPaper = 8

// progress draws Figures 10 and 11. The paper's crawl took eight days. So this crawl is divided into eight parts,
// which end when 99 % of the pages are there.
func (b *bench) progress(c *crawled) {
	length := c.time(0.99) / daysOfPaper
	title := fmt.Sprintf("%s, length, r = %d ", b.web, c.connections)
	pages, worth, mean := lab.Series{Name: "pages"}, lab.Series{Name: "PageRank"}, lab.Series{Name: "mean of the pages fetched"}
	var count, before int
	for day := range daysOfPaper + 1 {
		for count < len(c.fetches) && c.fetches[count].End <= float64(day)*length {
			count++
		}
		x := float64(day)
		pages.X, pages.Y = append(pages.X, x), append(pages.Y, float64(count)/float64(len(c.fetches)))
		worth.X, worth.Y = append(worth.X, x), append(worth.Y, c.curve[count])
		if count > before {
			mean.X = append(mean.X, x)
			mean.Y = append(mean.Y, (c.curve[count]-c.curve[before])/float64(count-before)*float64(len(c.fetches)))
		}
		before = count
	}
	axis := lab.Axis{Label: fmt.Sprintf("time, in parts of %.0f s", length)}
	b.out.Plot(lab.Plot{Title: title + "(Figure 10): share of pages and PageRank", X: axis, Y: lab.Axis{Label: "share"}, Series: []lab.Series{pages, worth}})
	b.out.Plot(lab.Plot{Title: title + "(Figure 11): PageRank of a page", X: axis, Y: lab.Axis{Label: "mean, 1 is that of all pages", Log: true}, Series: []lab.Series{mean}})
	const real = "section 7, the real crawl"
	b.out.Compare(lab.Comparison{What: b.web + ": PageRank when half of the pages are there", Source: real, Published: new(0.80), Measured: c.at(0.5), Tolerance: 0.05})
	b.out.Compare(lab.Comparison{What: b.web + ": PageRank when 80 % of the pages are there", Source: real, Published: new(0.95), Measured: c.at(0.8), Tolerance: 0.05})
	b.out.Compare(lab.Comparison{What: b.web + ": bytes a page (Table II: 57 GB, 2.4 million pages)", Source: "Table II",
		Published: new(57e9 / 2.4e6), Measured: c.result.Bytes / float64(len(c.fetches)), Tolerance: 2400})
}

// depths draws Figure 12.
func (b *bench) depths(c *crawled) {
	const most = 15
	var sums [most + 1]float64
	var counts [most + 1]int
	for _, f := range c.fetches {
		depth := min(int(c.depths[f.Page]), most)
		sums[depth] += c.world.worth[f.Page]
		counts[depth]++
	}
	s := lab.Series{Name: "pages found at that depth"}
	for depth, n := range counts {
		if n > 0 {
			s.X, s.Y = append(s.X, float64(depth)), append(s.Y, sums[depth]/float64(n)*float64(len(c.fetches)))
		}
	}
	b.out.Plot(lab.Plot{Title: b.web + " (Figure 12): PageRank by depth", X: lab.Axis{Label: "links from a home"},
		Y: lab.Axis{Label: "mean, 1 is that of all pages", Log: true}, Series: []lab.Series{s}})
}
