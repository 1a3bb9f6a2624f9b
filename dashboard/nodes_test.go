package dashboard

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestNodes shows the nodes of a cluster with their sum, to people and to programs, and only where there is a cluster.
func TestNodes(t *testing.T) {
	all := Nodes{
		Partitions: 8,
		Nodes: []Node{
			{Name: "one", State: "alive", Partitions: []int{0, 1, 2, 5}, Known: 1000, Queued: 30, Stored: 90, PagesS: 0.001, DiskFree: 2e9, Version: "v1"},
			{Name: "two", State: "alive", Partitions: []int{3, 4, 6, 7}, Known: 2000, Queued: 40, PagesS: 0.0001, Failed: 7, Fetches: 4},
			{Name: "three", State: "ended", Partitions: []int{}}, // stores nothing now
		},
		Sum: Node{Name: "all", Partitions: []int{0, 1, 2, 3, 4, 5, 6, 7}, Known: 3000, Queued: 70, PagesS: 0.0011, DiskFree: 2e9},
	}
	h := Handler(Options{Reader: fake{}, Nodes: func() Nodes { return all }})
	response, body := get(t, h, "/nodes")
	for _, text := range []string{"All is well. 2 nodes at work, with all 8 partitions.", "0–2, 5", "3–4, 6–7", "2.0 GB", "3,000", ">3.96/h<", ">3.6/h<", ">0.36/h<", ">0<", `class="state well">alive`, `<a href="/nodes" aria-current`} {
		if response.StatusCode != http.StatusOK || !strings.Contains(body, text) {
			t.Errorf("%d: no %q in:\n%s", response.StatusCode, text, body)
		}
	}
	_, body = get(t, h, "/api/v1/nodes")
	var told Nodes
	if err := json.Unmarshal([]byte(body), &told); err != nil || len(told.Nodes) != 3 || told.Sum.Queued != 70 {
		t.Errorf("%v: %s", err, body)
	}
	alone := Handler(Options{Reader: fake{}})
	for _, path := range []string{"/nodes", "/api/v1/nodes"} {
		if response, _ := get(t, alone, path); response.StatusCode != http.StatusNotFound {
			t.Errorf("%s without a cluster: %d", path, response.StatusCode)
		}
	}
	if _, body := get(t, alone, "/"); strings.Contains(body, "/nodes") {
		t.Error("without a cluster the menu has its nodes")
	}
}

// TestJudgeNodes tells first of nodes that are not heard of, then of partitions that nobody can take, then of
// others that nobody has.
func TestJudgeNodes(t *testing.T) {
	one, two := Node{Name: "one", State: "alive"}, Node{Name: "two", State: "silent"}
	for _, tt := range []struct {
		nodes []Node
		had   []int
		kind  string
		text  string
	}{
		{[]Node{one}, []int{0, 1}, "well", "1 node at work, with all 2 partitions"},
		{[]Node{one}, []int{1}, "wait", "1 of 2 partitions have no node"},
		{[]Node{one, two}, []int{1}, "ill", "Not heard of: two"},
		{[]Node{{Name: "one", State: "alive", Paused: true}}, []int{0, 1}, "wait", "The crawl is paused."},
		{[]Node{{Name: "one", State: "alive", SitesPaused: 2}}, []int{0, 1}, "wait", "2 of one"},
	} {
		if v := judgeNodes(Nodes{Partitions: 2, Nodes: tt.nodes, Sum: Node{Partitions: tt.had}}); v.Kind != tt.kind || !strings.Contains(v.Text, tt.text) {
			t.Errorf("%+v, want %s: %s", v, tt.kind, tt.text)
		}
	}
	trouble := Nodes{Partitions: 2, Nodes: []Node{one}, Sum: Node{Partitions: []int{1}}, Troubles: []string{"No node crawls partition 0."}}
	if v := judgeNodes(trouble); v.Kind != "ill" || v.Text != trouble.Troubles[0] {
		t.Errorf("%+v, want the trouble", v)
	}
}
