package dashboard

import (
	"fmt"
	"net/http"
	"strings"

	"freshet/dashboard/units"
)

// Nodes are the nodes of a cluster.
type Nodes struct {
	Partitions int    `json:"partitions"` // of the crawl
	Nodes      []Node `json:"nodes"`
	Sum        Node   `json:"sum"` // of the nodes that have not ended; of the disks the one with the fewest free bytes
	// Troubles has a sentence for each partition that a node cannot load: why, and what to do.
	Troubles []string `json:"troubles"`
}

// Node is what a node reports to the others. Counts begin with its start.
type Node struct {
	Name       string  `json:"node"`
	State      string  `json:"state"` // alive, silent or ended
	HeardS     float64 `json:"last_heard_of_ago_s"`
	Partitions []int   `json:"partitions"` // sorted
	Known      int64   `json:"pages_known"`
	Queued     int64   `json:"queued"`
	Stored     int64   `json:"pages"`
	PagesS     float64 `json:"recent_pages_per_s"` // by the crawl's clock
	Failed     int64   `json:"urls_failed"`
	Fetches    int     `json:"fetches_allowed"`
	DiskFree   int64   `json:"disk_free_bytes"` // 0: not known
	Version    string  `json:"version"`
	// Paused and SitesPaused are what operators have ordered: a pause of the whole crawl, or of single sites.
	Paused      bool `json:"paused"`
	SitesPaused int  `json:"sites_paused"`
}

// Tone is a verdict on a node's state, as for a site.
func (n Node) Tone() string {
	return map[string]string{"alive": "well", "silent": "ill"}[n.State]
}

// Pace says how often a node stores a page now, by the crawl's clock: 12/s, 3.5/min. The unit suits all nodes together.
func (all Nodes) Pace(n Node) string {
	if n.PagesS == 0 {
		return "0"
	}
	_, text := paces(all.Sum.PagesS)
	return text(n.PagesS)
}

// Pauses says in sentences what operators have paused: the whole crawl, and how many sites.
func (all Nodes) Pauses() (told []string) {
	var paused, sites []string
	working := 0
	for _, n := range all.Nodes {
		if n.State == "ended" {
			continue
		}
		working++
		if n.Paused {
			paused = append(paused, n.Name)
		}
		if n.SitesPaused > 0 {
			sites = append(sites, fmt.Sprintf("%d of %s", n.SitesPaused, n.Name))
		}
	}
	switch {
	case len(paused) == 0:
	case len(paused) == working:
		told = append(told, "The crawl is paused. No requests are made until you resume it.")
	default:
		told = append(told, fmt.Sprintf("Paused: %s. The other nodes crawl, because an order to pause or resume did not reach every node: give it again.", strings.Join(paused, ", ")))
	}
	if len(sites) > 0 {
		told = append(told, fmt.Sprintf("Sites that operators have paused: %s.", strings.Join(sites, ", ")))
	}
	return told
}

// Which lists the node's partitions, with ranges for consecutive ones.
func (n Node) Which() string {
	var parts []string
	for i := 0; i < len(n.Partitions); {
		last := i
		for last+1 < len(n.Partitions) && n.Partitions[last+1] == n.Partitions[last]+1 {
			last++
		}
		if last > i {
			parts = append(parts, fmt.Sprintf("%d–%d", n.Partitions[i], n.Partitions[last]))
		} else {
			parts = append(parts, fmt.Sprint(n.Partitions[i]))
		}
		i = last + 1
	}
	return strings.Join(parts, ", ")
}

// nodesNow shows the nodes of the cluster and their sum.
func (s *server) nodesNow(*http.Request) (any, error) {
	all := s.nodes()
	return struct {
		Nodes
		Verdict verdict
		Facts   []Row
	}{all, judgeNodes(all), nodeFacts(all)}, nil
}

// judgeNodes says in a sentence whether a cluster is well. It reports the worst problem.
func judgeNodes(all Nodes) verdict {
	var silent []string
	working := 0
	for _, n := range all.Nodes {
		switch n.State {
		case "silent":
			silent = append(silent, n.Name)
		case "alive":
			working++
		}
	}
	pauses := all.Pauses()
	free := all.Partitions - len(all.Sum.Partitions)
	switch {
	case len(silent) > 0:
		return verdict{Kind: "ill", Text: fmt.Sprintf("Not heard of: %s. The other nodes declare such a node dead, and take over its partitions.", strings.Join(silent, ", "))}
	case len(all.Troubles) > 0:
		return verdict{Kind: "ill", Text: strings.Join(all.Troubles, " ")}
	case free > 0:
		return verdict{Kind: "wait", Text: fmt.Sprintf("%d of %s have no node now. The nodes take them soon.", free, units.Plural(int64(all.Partitions), "partition"))}
	case len(pauses) > 0:
		return verdict{Kind: "wait", Text: strings.Join(pauses, " ")}
	}
	return verdict{Kind: "well", Text: fmt.Sprintf("All is well. %s at work, with all %s.", units.Plural(int64(working), "node"), units.Plural(int64(all.Partitions), "partition"))}
}

// nodeFacts are the sums over all nodes.
func nodeFacts(all Nodes) []Row {
	facts := []Row{
		{"Known pages", units.Count(all.Sum.Known)},
		{"Pages pending or due", units.Count(all.Sum.Queued)},
		{"Stored by these runs", units.Count(all.Sum.Stored)},
		{"Stored now", pace(all.Sum.PagesS)},
		{"Failed requests", units.Count(all.Sum.Failed)},
		{"Fetches allowed", units.Count(int64(all.Sum.Fetches))},
	}
	if all.Sum.DiskFree > 0 {
		facts = append(facts, Row{"Disk free, on the fullest", units.Bytes(all.Sum.DiskFree)})
	}
	return facts
}
