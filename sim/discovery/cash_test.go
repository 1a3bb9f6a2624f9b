package discovery_test

import (
	"slices"
	"strings"
	"testing"

	"freshet/frontier"
	"freshet/sim/discovery"
	"freshet/sim/graph"
)

// TestCash holds the order in which one fetcher takes pages by cash. Page a gets 1 and then a half, which is too little
// to be told. Page c gets a third and then 1. Page b gets a half. Page d gets a half, because a picture gets the other
// half.
func TestCash(t *testing.T) {
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
	var order []uint32
	_, err = discovery.Crawl(t.Context(), web, discovery.Options{
		Ordering: frontier.OPIC{}, Fetched: func(f discovery.Fetch) { order = append(order, f.Page) },
	})
	if want := []uint32{0, 1, 2, 3, c, 4, h, a, b, d}; err != nil || !slices.Equal(order, want) {
		t.Errorf("order %v, want %v; error %v", order, want, err)
	}
}
