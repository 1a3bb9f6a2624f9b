package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"freshet/clock"
	"freshet/node"
	"freshet/weburl"
)

// memoryBudget is the memory that the crawl of TestMemoryBudget may hold. memorySlack is for the servers, the disk in
// memory and the test's own process.
const (
	memoryBudget = 256 << 20
	memorySlack  = 96 << 20
)

// greedyHosts is how many hosts there are that want more.
const greedyHosts = 60

// packed returns an answer with gzipped content.
func packed(contentType string, pieces ...string) string {
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	for _, piece := range pieces {
		io.WriteString(w, piece)
	}
	w.Close()
	return strings.Replace(page(contentType, body.String()), "\r\n", "\r\nContent-Encoding: gzip\r\n", 1)
}

// greedy are answers of a few kilobytes that once took up to gigabytes of memory each.
func greedy() []string {
	many := func(n int, text string) string { return strings.Repeat(text, n) }
	links := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "<a href=%d>", i)
		}
		return b.String()
	}
	return []string{
		packed("text/html", "<base href='http://elsewhere.test/", many(200, "0123456789"), "/'>", links(8000)),
		packed("text/html", "<base href='http://elsewhere.test/", many(190, "abcdefghij"), "/'>", links(60_000)),
		packed("text/html", "<a ", many(8<<20, "a "), ">"),
		packed("text/xml", "<urlset><url ", many(4<<20, "a='' "), "></url></urlset>"),
		packed("text/xml", "<urlset>", many(50_000, "<url><loc>http://elsewhere.test/"+many(30, "0123456789")+"</loc></url>")),
		packed("text/xml", "<urlset><!--", many(2<<20, "comment ")),
		packed("text/html; charset=windows-1252", many(16<<20, "\x80")),
		packed("text/html", many(3<<20, "&nGt;")),
		packed("text/html", many(16<<20, "\x00")),
		strings.Replace(page("text/html", "hello"), "\r\n", "\r\n"+many(900, "X-Long: "+many(25, "0123456789")+"\r\n"), 1),
	}
}

// Many hosts try to fill the memory with their answers. The crawl stays within its budget, and stores every page of
// the honest hosts as soon as politeness allows.
func TestMemoryBudget(t *testing.T) {
	answers := greedy()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryBudget))
	var engine atomic.Pointer[node.Node]
	var used, heap atomic.Int64
	look := func(weburl.URL) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap.Store(max(heap.Load(), int64(m.HeapInuse)))
		if e := engine.Load(); e != nil {
			used.Store(max(used.Load(), e.Memory().Usage().UsedBytes))
		}
	}
	c := trial{
		hosts: func(n *network) {
			for i := range greedyHosts {
				n.host(fmt.Sprintf("greedy-%d.test", i), server{answer: func(out io.Writer, r *http.Request) bool {
					text := status(http.StatusNotFound)
					if r.URL.Path != "/robots.txt" {
						text = answers[i%len(answers)]
					}
					io.WriteString(out, text)
					return false
				}})
			}
		},
		options: func(o *node.Options) {
			o.Memory, o.MaxBody, o.Connections, o.BeforeProcess = memoryBudget, 16<<20, 256, look
		},
	}
	for i := range greedyHosts {
		c.seeds = append(c.seeds, fmt.Sprintf("http://greedy-%d.test/", i))
	}
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 1))
		c.delay = delay
		c.hosts(n)
		n.host("honest-one.test", server{answer: honest})
		n.host("honest-two.test", server{answer: honest})
		o := c.engineOptions(t, n)
		e, err := node.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		engine.Store(e)
		if _, err := e.Run(t.Context(), t.Context()); err != nil {
			t.Error(err)
		}
		if u := e.Memory().Usage(); u.By["bodies"] != 0 || u.By["pages"] != 0 {
			t.Errorf("held at the end: %v", u.By)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		n.work.Wait()
		n.apart(byHost, delay)
		c.left(t, n, o)
	})
	t.Logf("%d MiB charged, %d MiB of heap at most", used.Load()>>20, heap.Load()>>20)
	if used.Load() > memoryBudget {
		t.Errorf("%d MiB are charged, of %d", used.Load()>>20, memoryBudget>>20)
	}
	if heap.Load() > memoryBudget+memorySlack {
		t.Errorf("%d MiB of heap, want %d at most", heap.Load()>>20, (memoryBudget+memorySlack)>>20)
	}
}
