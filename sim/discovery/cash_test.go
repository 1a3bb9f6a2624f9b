package discovery_test

import (
	"slices"
	"strings"
	"testing"

	"freshet/frontier"
	"freshet/sim/discovery"
	"freshet/sim/graph"
)

// TestPlainCash holds cash to both readings, by the order in which one fetcher takes pages. Page a gets 1 and then
// a half, which is told of at once or not at all; c gets a third and then 1, b a half, and d as much, or 1 if it
// needs not share with a picture.
func TestPlainCash(t *testing.T) {
	const text = `freshet-graph 1
site	1	0	0
page	http://1.test/	1	http://h.test/a
site	2	0	0
page	http://2.test/	1	http://h.test/a http://h.test/b
site	3	0	0
page	http://3.test/	1	http://h.test/c http://h.test/e http://h.test/f
site	4	0	0
page	http://4.test/	1	http://h.test/c
site	5	0	0
page	http://5.test/	1	http://h.test/d http://h.test/picture.png
site	6	0	0
page	http://h.test/	1	
page	http://h.test/a	1	
page	http://h.test/b	1	
page	http://h.test/c	1	
page	http://h.test/d	1	
`
	web, err := graph.Read(strings.NewReader(text), "web")
	if err != nil {
		t.Fatal(err)
	}
	const h, a, b, c, d = 5, 6, 7, 8, 9
	for _, plain := range []bool{false, true} {
		var order []uint32
		_, err := discovery.Crawl(t.Context(), web, discovery.Options{
			Ordering: frontier.OPIC{}, PlainCash: plain, Fetched: func(f discovery.Fetch) { order = append(order, f.Page) },
		})
		want := []uint32{0, 1, 2, 3, c, 4, h, a, b, d}
		if plain {
			want = []uint32{0, 1, a, 2, 3, c, 4, h, d, b}
		}
		if err != nil || !slices.Equal(order, want) {
			t.Errorf("plain %v: order %v, want %v; error %v", plain, order, want, err)
		}
	}
}
