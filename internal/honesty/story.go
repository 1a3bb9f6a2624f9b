package honesty

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"freshet/frontier"
	"freshet/sim/discovery"
)

// Request is a request for a page.
type Request struct {
	Page       uint32
	Start, End float64 // s from the start of the crawl's first request
}

// Story is what a crawl did, live or simulated.
type Story struct {
	Requests       []Request // for pages, in the order in which they were made
	Duration, Busy float64   // s: until the last answer ended; of all requests together, robots.txt included
}

// Pages returns the pages in the order in which they were asked for.
func (s Story) Pages() []uint32 {
	pages := make([]uint32, len(s.Requests))
	for i, r := range s.Requests {
		pages[i] = r.Page
	}
	return pages
}

// Utilisation returns the share of the time of r fetchers in which they fetched.
func (s Story) Utilisation(connections int) float64 {
	return s.Busy / (s.Duration * float64(connections))
}

// Same returns the length of the common prefix of two stories, in requests.
func Same(a, b Story) (n int) {
	for n < min(len(a.Requests), len(b.Requests)) && a.Requests[n].Page == b.Requests[n].Page {
		n++
	}
	return n
}

// RankCorrelation returns Spearman's rank correlation of two orders over the pages that both have, and how
// many these are. It is NaN for fewer than two.
func RankCorrelation(a, b []uint32) (correlation float64, common int) {
	rank := make(map[uint32]int, len(b))
	for i, page := range b {
		rank[page] = i
	}
	var shared []uint32
	var inB []float64
	for _, page := range a {
		if i, ok := rank[page]; ok {
			shared, inB = append(shared, page), append(inB, float64(i))
		}
	}
	return stat.Correlation(ranks(len(shared), nil), ranks(len(shared), inB), nil), len(shared)
}

// ranks returns for n values the number of each among them by size; of nil, 0 to n-1.
func ranks(n int, values []float64) []float64 {
	places, of := make([]int, n), make([]float64, n)
	for i := range places {
		places[i] = i
	}
	if values != nil {
		slices.SortFunc(places, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	}
	for rank, i := range places {
		of[i] = float64(rank)
	}
	return of
}

// Trial is how a web is crawled, live and simulated.
type Trial struct {
	Order       string
	Connections int           // r
	Delay       time.Duration // w
	MaxPages    int           // 0: no limit
}

// Simulate crawls the web in the simulator as the engine would, robots.txt and links that wait included.
func (t Trial) Simulate(ctx context.Context, web discovery.Web, wait time.Duration) (Story, error) {
	ordering, err := frontier.ParseOrdering(t.Order)
	if err != nil {
		return Story{}, err
	}
	var s Story
	result, err := discovery.Crawl(ctx, web, discovery.Options{
		Ordering: ordering, Connections: t.Connections, Delay: t.Delay, Wait: wait,
		Robots: true, MaxPages: t.MaxPages,
		Fetched: func(f discovery.Fetch) { s.Requests = append(s.Requests, Request{f.Page, f.Start, f.End}) },
	})
	s.Duration, s.Busy = result.Duration, result.Busy
	s.sort()
	return s, err
}

func (s *Story) sort() {
	slices.SortStableFunc(s.Requests, func(a, b Request) int { return cmp.Compare(a.Start, b.Start) })
}
