package hostile

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/clock"
	"freshet/node"
)

// TestPerConnection crawls a host with several spellings, with k requests on a connection. The server closes one
// connection in four: after a whole answer, before it or in the middle. The crawl stops and starts again. The server's
// log has no more than k requests within an interval, and only on one connection.
func TestPerConnection(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) { perConnection(t, seed) })
	}
}

func perConnection(t *testing.T, seed uint64) {
	const delay = 10 * time.Second
	k := 2 + int(seed%3)
	n := newNetwork(t, clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 100))
	shared := public(1)
	n.servers[shared] = server{answer: moody(seed)}
	for _, name := range []string{"a.test", "a.test."} {
		n.name(name, func(int) []netip.Addr { return []netip.Addr{shared} })
	}
	for _, name := range []string{"honest-one.test", "honest-two.test"} {
		n.host(name, server{answer: honest})
	}
	c := trial{delay: delay, options: func(o *node.Options) {
		o.PerConnection, o.Scope, o.Retries, o.MaxPages = k, "domain", new(5), 12
	}}
	for _, spelling := range []string{"http://a.test", "http://A.TEST.:80", "http://a.test.", "http://a.test:8080"} {
		c.seeds = append(c.seeds, spelling+"/")
	}
	o := c.engineOptions(t, n)
	for range 4 {
		engine, err := node.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		summary, err := engine.Run(t.Context(), t.Context())
		if err != nil {
			t.Error(err)
		}
		t.Logf("seed %d, k %d: %d pages, %s, %d requests", seed, k, summary.Pages, summary.StoppedBy, len(n.requests(byAddress)[shared.String()]))
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}
	n.work.Wait()
	requests := n.requests(byAddress)[shared.String()]
	run, longest := 1, 1
	for i, r := range requests[1:] {
		before := requests[i]
		if gap := r.start.Sub(before.end); gap >= delay {
			run = 1
			continue
		} else if r.conn != before.conn {
			t.Errorf("seed %d: asked for %s %v after %s on another connection", seed, r.path, gap, before.path)
		}
		run++
		longest = max(longest, run)
	}
	if longest != k || len(requests) < 20 {
		t.Errorf("seed %d: at most %d of %d requests within an interval, want %d", seed, longest, len(requests), k)
	}
}

// moody answers with links to all spellings and loses one connection in four.
func moody(seed uint64) answer {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 25))
	return each(func(out io.Writer, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		links := ""
		for i := range 30 {
			links += fmt.Sprintf(`<a href="%s/%d">next</a>`, []string{"http://a.test", "http://a.test.", "http://a.test:8080"}[i%3], i)
		}
		whole := html("<title>" + r.Host + r.URL.Path + "</title>" + links)
		switch random.IntN(8) {
		case 0:
			_, _ = io.WriteString(out, whole)
			return false
		case 1:
			_, _ = io.WriteString(out, whole[:len(whole)-20])
			return false
		}
		_, err := io.WriteString(out, whole)
		return err == nil
	})
}
