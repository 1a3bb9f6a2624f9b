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

// node is a page of the graph that is exported.
type node struct {
	site        weburl.Site
	url         string
	fingerprint weburl.Fingerprint
	depth       uint16
	seed        bool
	size        int64
}

// writeGraph writes the web that a crawl has found, as docs/format/graph.md has it: the pages that have a
// version, and their links. A site's home is its first seed, else the page nearest to one. Memory is by the
// pages of a partition.
func writeGraph(w io.Writer, s *store.Store) error {
	out := graph.NewRecorder(w)
	for p := range s.Partitions() {
		nodes, err := nodesOf(s, weburl.Partition(p))
		if err != nil {
			return err
		}
		for len(nodes) > 0 {
			n := slices.IndexFunc(nodes, func(other node) bool { return other.site != nodes[0].site })
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
func nodesOf(s *store.Store, p weburl.Partition) (nodes []node, err error) {
	for page, err := range s.Pages(p) {
		if err != nil {
			return nil, err
		}
		if page.Versions > 0 {
			nodes = append(nodes, node{page.URL.Site(), page.URL.String(), page.Fingerprint, page.Depth, page.Seed, page.Size})
		}
	}
	slices.SortFunc(nodes, func(a, b node) int {
		if a.seed != b.seed && a.site == b.site {
			if a.seed {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.site, b.site), cmp.Compare(a.depth, b.depth), strings.Compare(a.url, b.url))
	})
	return nodes, nil
}

// answersTimed is of how many pages of a site the time of the answer is looked up.
const answersTimed = 25

// writeSite writes a site. Its latency is the median time of some answers; its rate is not known.
func writeSite(out *graph.Recorder, s *store.Store, p weburl.Partition, nodes []node) error {
	var took []int64
	for _, n := range nodes[:min(answersTimed, len(nodes))] {
		visits, err := s.Visits(p, n.fingerprint)
		if err != nil {
			return err
		}
		for _, v := range visits {
			took = append(took, v.TookNs)
		}
	}
	latency := 0.0
	if slices.Sort(took); len(took) > 0 {
		latency = float64(took[len(took)/2]) / 1e9
	}
	out.Site(string(nodes[0].site), discovery.Server{Latency: latency})
	for _, n := range nodes {
		found, err := s.OutLinks(p, n.fingerprint)
		if err != nil {
			return err
		}
		links := make([]string, len(found))
		for i, link := range found {
			links[i] = link.URL.String()
		}
		out.Page(n.url, float64(n.size), links)
	}
	return nil
}
