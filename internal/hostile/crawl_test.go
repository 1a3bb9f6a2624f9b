package hostile

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"freshet/clock"
	"freshet/crawl"
	"freshet/crawl/explain"
	"freshet/fetch"
	"freshet/node"
	"freshet/store"
	"freshet/store/repair"
	"freshet/weburl"
)

// The ceilings of the heap: for one crawl's growth, and for the whole suite. Most of the heap is the database's tables
// and the file system in memory.
const (
	crawlCeiling = 96 << 20
	suiteCeiling = memoryBudget + memorySlack // that one test is to come near to
)

func TestMain(m *testing.M) {
	code := m.Run()
	if held := heap(); held > suiteCeiling && code == 0 {
		fmt.Fprintf(os.Stderr, "the heap grew to %d MiB, want %d at most\n", held>>20, suiteCeiling>>20)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// heap returns the most bytes of heap that the process ever held at once.
func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys
}

// trial is one crawl of a hostile host and two honest ones. The hostile host is evil.test unless hosts sets others.
type trial struct {
	evil  server           // at evil.test
	hosts func(n *network) // instead of, or beside, evil
	seeds []string         // of the hostile hosts; paths are evil.test's; "/" if there is none

	rate    float64 // of the clock; 1 if 0
	delay   time.Duration
	options func(o *node.Options)

	stop crawl.Stop // frontier_empty if empty
	// The expected answers of explain for hostile URLs: "gate: reason", empty for a stored page. A path is one of
	// evil.test.
	explains map[string]string
	check    func(t *testing.T, n *network, s *store.Store)
}

const delay = time.Second // w, unless a trial says otherwise

// run crawls, in a bubble.
func (c trial) run(t *testing.T) {
	t.Helper()
	before := heap()
	synctest.Test(t, func(t *testing.T) { c.crawl(t) })
	if grown := max(before, heap()) - before; grown > crawlCeiling {
		t.Errorf("the heap grew by %d MiB, want %d at most", grown>>20, crawlCeiling>>20)
	}
}

func (c *trial) crawl(t *testing.T) {
	if c.rate == 0 {
		c.rate = 1
	}
	if c.delay == 0 {
		c.delay = delay
	}
	if c.stop == "" {
		c.stop = crawl.FrontierEmpty
	}
	n := newNetwork(t, clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), c.rate))
	if c.evil.answer != nil {
		n.host("evil.test", c.evil)
	}
	if c.hosts != nil {
		c.hosts(n)
	}
	n.host("honest-one.test", server{answer: honest})
	n.host("honest-two.test", server{answer: honest})
	o := c.engineOptions(t, n)
	engine, err := node.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	began := n.clock.Now()
	summary, err := engine.Run(t.Context(), t.Context())
	if err != nil {
		t.Error(err)
	}
	if summary.StoppedBy != c.stop {
		t.Errorf("stopped by %s, want %s", summary.StoppedBy, c.stop)
	}
	c.explained(t, "running", engine.Store(), engine.Explain)
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
	n.work.Wait()
	n.apart(byHost, c.delay)
	files := 1
	if o.TDMRep {
		files = 2
	}
	c.fullSpeed(t, n, began, honestPages+files)
	c.left(t, n, o)
}

// engineOptions returns the options of the trial's crawl.
func (c *trial) engineOptions(t *testing.T, n *network) node.Options {
	o := node.Options{
		Dir: "data", FS: vfs.NewMem(), Partitions: 2, Clock: n.clock, UserAgent: "freshet-test", Delay: c.delay,
		MaxBody: 1 << 20, Connections: 16,
		Fetch: fetch.Options{Resolver: &resolver{network: n, asked: map[string]int{}}, Dial: n.dial},
	}
	seeds := c.seeds
	if len(seeds) == 0 {
		seeds = []string{"/"}
	}
	for _, seed := range append(slices.Clone(seeds), "http://honest-one.test/", "http://honest-two.test/") {
		o.Seeds = append(o.Seeds, c.url(t, seed))
	}
	if c.options != nil {
		c.options(&o)
	}
	return o
}

// url returns a URL; a path is one of evil.test.
func (c *trial) url(t *testing.T, text string) weburl.URL {
	t.Helper()
	if text[0] == '/' {
		scheme := "http"
		if c.evil.tls != nil {
			scheme = "https"
		}
		text = scheme + "://evil.test" + text
	}
	u, err := weburl.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// explained holds that explain gives the expected answers for the hostile URLs. For every other page of the store that
// is not live, explain must name a gate and a reason.
func (c *trial) explained(t *testing.T, where string, s *store.Store, explain func(string) (explain.Explanation, error)) {
	for p := range s.Partitions() {
		for row, err := range s.Pages(weburl.Partition(p)) {
			if err != nil {
				t.Fatal(err)
			}
			e, err := explain(row.URL.String())
			if named := e.StoppedBy != "" && e.Reason != ""; err != nil || !named && row.State != store.StateLive {
				t.Errorf("%s: explain %s, which is %v: no gate, error %v\n%+v", where, row.URL, row.State, err, e)
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(c.explains)) {
		e, err := explain(c.url(t, text).String())
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		got := ""
		if e.StoppedBy != "" {
			got = e.StoppedBy + ": " + e.Reason
		}
		if got != c.explains[text] {
			t.Errorf("%s: explain %s: %q, want %q\n%+v", where, text, got, c.explains[text], e)
		}
	}
}

// fullSpeed holds that the crawl asked the honest hosts as soon as politeness allowed. robots.txt came when the crawl
// began. Between two requests there was no more than the delay and the time to decide the links.
func (c *trial) fullSpeed(t *testing.T, n *network, began time.Time, count int) {
	slack := n.clock.Span(100 * time.Millisecond)
	by := n.requests(byHost)
	for _, host := range []string{"honest-one.test", "honest-two.test"} {
		requests := by[host]
		if len(requests) != count {
			t.Fatalf("%s was asked %d times, want %d", host, len(requests), count)
		}
		if wait := requests[0].start.Sub(began); wait > slack {
			t.Errorf("%s was first asked after %v: the hostile host held it up", host, wait)
		}
		for i := range max(0, len(requests)-1) {
			if gap := requests[i+1].start.Sub(requests[i].end); gap > c.delay+slack {
				t.Errorf("%s: %v between %s and %s: the hostile host held it up", host, gap, requests[i].path, requests[i+1].path)
			}
		}
	}
}

// left looks into the directory that the crawl left.
func (c *trial) left(t *testing.T, n *network, o node.Options) {
	s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", ReadOnly: true, Clock: o.Clock})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, host := range []string{"honest-one.test", "honest-two.test"} {
		for number := range honestPages {
			path := "/"
			if number > 0 {
				path = fmt.Sprintf("/page/%d", number)
			}
			row, _, err := s.PageOf(c.url(t, "http://"+host+path))
			if err != nil || row.State != store.StateLive {
				t.Errorf("%s%s: %v, error %v: want it stored", host, path, row.State, err)
			}
		}
	}
	if err := repair.Verify(t.Context(), s, func(p store.Problem) { t.Error(p) }); err != nil {
		t.Error(err)
	}
	c.explained(t, "stopped", s, func(raw string) (explain.Explanation, error) { return node.Explain(s, o, raw, node.Unhurried) })
	if c.check != nil {
		c.check(t, n, s)
	}
}
