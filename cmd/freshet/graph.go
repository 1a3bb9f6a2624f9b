package main

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"freshet/sim/discovery"
	"freshet/sim/graph"
	"freshet/store"
	"freshet/weburl"
)

// graphNode is a page of the exported graph, or a fetched URL that is not a page.
type graphNode struct {
	site        weburl.Site
	url         string
	fingerprint weburl.Fingerprint
	depth       uint16
	seed        bool
	miss        bool
	follow      bool // its links
	size        int64
	redirect    weburl.URL // of a miss; may be zero
}

// writeGraph writes the web that a crawl has found, in the format of docs/format/graph.md: pages with a version,
// their links, and URLs without a page on sites with pages. A site's home is its first seed, or else the page nearest
// to one. Memory is proportional to the pages of a partition.
func writeGraph(w io.Writer, s *store.Store) error {
	out := graph.NewRecorder(w)
	for p := range s.Partitions() {
		nodes, err := nodesOf(s, weburl.Partition(p))
		if err != nil {
			return err
		}
		for len(nodes) > 0 {
			n := slices.IndexFunc(nodes, func(other graphNode) bool { return other.site != nodes[0].site })
			if n < 0 {
				n = len(nodes)
			}
			if err := writeSite(out, s, weburl.Partition(p), nodes[:n]); err != nil {
				return err
			}
			nodes = nodes[n:]
		}
	}
	return out.Close()
}

// nodesOf returns a partition's pages by site, each site's home first.
func nodesOf(s *store.Store, p weburl.Partition) (nodes []graphNode, err error) {
	for page, err := range s.Pages(p) {
		if err != nil {
			return nil, err
		}
		if page.Visited && page.Outcome != store.OutcomeDenied || page.Versions > 0 {
			nodes = append(nodes, graphNode{page.URL.Site(), page.URL.String(), page.Fingerprint, page.Depth, page.Seed,
				page.Versions == 0, !page.NoFollow, page.Size, page.Redirect})
		}
	}
	slices.SortFunc(nodes, func(a, b graphNode) int {
		return cmp.Or(cmp.Compare(a.site, b.site), before(a.seed, b.seed), before(!a.miss, !b.miss),
			cmp.Compare(a.depth, b.depth), strings.Compare(a.url, b.url))
	})
	return nodes, nil
}

// before puts true before false.
func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// writeSite writes a site, unless all of it are misses.
func writeSite(out *graph.Recorder, s *store.Store, p weburl.Partition, nodes []graphNode) error {
	if !slices.ContainsFunc(nodes, func(n graphNode) bool { return !n.miss }) {
		return nil
	}
	server, err := speedOf(s, p, nodes)
	if err != nil {
		return err
	}
	out.Site(string(nodes[0].site), server)
	for _, n := range nodes {
		if n.miss {
			var target []string
			if !n.redirect.IsZero() {
				target = append(target, n.redirect.String())
			}
			out.Miss(n.url, 0, target)
			continue
		}
		var links []string
		if n.follow {
			found, err := s.OutLinks(p, n.fingerprint)
			if err != nil {
				return err
			}
			for _, link := range found {
				links = append(links, link.URL.String())
			}
		}
		out.Page(n.url, float64(n.size), links)
	}
	return nil
}

// answersTimed is the number of pages of a site whose answer times are used.
const answersTimed = 300

// speedOf returns latency and rate of a site. It fits Tukey's resistant line to the times of some complete answers
// over their bytes: the line joins the medians of the smaller and the larger third. If large answers took no longer
// than small ones, the rate is unknown and the latency is the median time.
func speedOf(s *store.Store, p weburl.Partition, nodes []graphNode) (discovery.Server, error) {
	type answer struct{ bytes, took float64 }
	var answers []answer
	for i := 0; i < len(nodes); i += (len(nodes) + answersTimed - 1) / answersTimed {
		visits, err := s.Visits(p, nodes[i].fingerprint)
		if err != nil {
			return discovery.Server{}, err
		}
		for _, v := range visits {
			if v.Complete && v.TookNs > 0 {
				answers = append(answers, answer{float64(v.WireBytes), float64(v.TookNs) / 1e9})
			}
		}
	}
	if len(answers) == 0 {
		return discovery.Server{}, nil
	}
	slices.SortFunc(answers, func(a, b answer) int { return cmp.Compare(a.bytes, b.bytes) })
	median := func(all []answer, of func(answer) float64) float64 {
		values := make([]float64, len(all))
		for i, a := range all {
			values[i] = of(a)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	bytes, took := func(a answer) float64 { return a.bytes }, func(a answer) float64 { return a.took }
	third := (len(answers) + 2) / 3
	small, large := answers[:third], answers[len(answers)-third:]
	slope := (median(large, took) - median(small, took)) / (median(large, bytes) - median(small, bytes))
	latency := median(answers, func(a answer) float64 { return a.took - slope*a.bytes })
	if !(slope > 1e-15) || latency < 0 { // NaN too
		return discovery.Server{Latency: median(answers, took)}, nil
	}
	return discovery.Server{Latency: latency, Rate: 1 / slope}, nil
}
