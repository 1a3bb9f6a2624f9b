package node

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/internal/broker"
	"freshet/weburl"
)

// TestHop has two nodes crawl a chain of hosts. Only the page of the host before links to a host. The test logs how
// long a hop takes, from the request for that page to the first request to the next host.
func TestHop(t *testing.T) {
	const hosts = 40
	var mu sync.Mutex
	var order []string
	var at []time.Time
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		order, at = append(order, r.Host+r.URL.Path), append(at, clock.Real().Now())
		mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		var host int
		_, _ = fmt.Sscanf(r.Host, "h%d.test", &host)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>Host %d</title><a href="http://h%d.test/">next</a>`, host, (host+1)%hosts)
	}))
	defer web.Close()
	s := broker.JetStream(t)
	node := func(name string, seeds ...weburl.URL) *member {
		o := Options{
			FS: vfs.NewMem(), Dir: name, AllowPrivate: true, Scope: "any", Connections: 8, Delay: 5 * time.Millisecond,
			UserAgent: "freshet-test", Resolve: map[string]netip.AddrPort{}, Seeds: seeds,
		}
		for h := range hosts {
			o.Resolve[fmt.Sprintf("h%d.test", h)] = addressOfServer(web)
		}
		return join(t, s, o, name)
	}
	first, second := node("one"), node("two")
	within(t, "both have partitions", func() bool { return first.owned() > 0 && second.owned() > 0 && first.owned()+second.owned() == 8 })
	if added, refused, err := first.Add([]weburl.URL{mustParse(t, "http://h0.test/")}); err != nil || added != 1 {
		t.Fatal(added, refused, err)
	}
	within(t, "the chain is crawled", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Contains(order, fmt.Sprintf("h%d.test/", hosts-1))
	})
	between := 0
	var took []time.Duration
	for h := range hosts - 1 {
		if first.hasPage(fmt.Sprintf("http://h%d.test/", h)) != first.hasPage(fmt.Sprintf("http://h%d.test/", h+1)) {
			between++
		}
		from, to := slices.Index(order, fmt.Sprintf("h%d.test/", h)), slices.Index(order, fmt.Sprintf("h%d.test/robots.txt", h+1))
		took = append(took, at[to].Sub(at[from]).Round(time.Millisecond/10))
	}
	if between == 0 {
		t.Error("no hop is from one node to another")
	}
	slices.Sort(took)
	t.Logf("%d hops, %d of them between nodes: median %v, worst %v", len(took), between, took[len(took)/2], took[len(took)-1])
	first.leave()
	second.leave()
}
