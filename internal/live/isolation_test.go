package live

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/crawl"
	"freshet/fetch"
	"freshet/frontier"
	"freshet/node"
	"freshet/weburl"
)

// A neighbour is a site of pages that never change, and its fault.
type neighbour struct {
	pages  int
	hours  string // in which alone it may be asked; "": always
	paused bool   // by an operator, once the pages are found
	block  bool   // by an operator, once the pages are found
	// From the third day on:
	patience  time.Duration // it answers 503 and asks for so much
	noRobots  bool          // its robots.txt cannot be fetched
	overloads bool          // it answers 503
}

// A neighbourhood is crawled for some days and kept fresh by visiting all pages alike.
type neighbourhood struct {
	sites  []neighbour
	budget int64 // a day
	days   int

	clock  *clock.Clock
	start  time.Time
	mu     sync.Mutex
	asked  []int // requests for pages of each site after foundBy
	visits []int // by site, after foundBy
}

// foundBy is when all pages are found and the faults begin.
const foundBy = 3 * day

func hostOf(site int) string { return fmt.Sprintf("h%d.test", site) }

// siteOf is the number of a site by its host's name.
func siteOf(host string) (site int) {
	_, _ = fmt.Sscanf(host, "h%d.test", &site)
	return site
}

// ServeHTTP answers for all sites.
func (n *neighbourhood) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	site := siteOf(r.Host)
	s := n.sites[site]
	ill := n.clock.Now().Sub(n.start) >= foundBy
	switch {
	case r.URL.Path == "/robots.txt" && s.noRobots && ill:
		http.Error(w, "out", http.StatusServiceUnavailable)
		return
	case r.URL.Path == "/robots.txt":
		http.NotFound(w, r)
		return
	}
	if ill {
		n.mu.Lock()
		n.asked[site]++
		n.mu.Unlock()
	}
	if ill && (s.overloads || s.patience > 0) {
		if s.patience > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(int(s.patience.Seconds())))
		}
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<p>%s of %d</p>", r.URL.Path, site)
	if r.URL.Path == "/" {
		for page := 1; page < s.pages; page++ {
			fmt.Fprintf(w, `<a href="/%d">%d</a>`, page, page)
		}
	}
}

// run crawls and counts.
func (n *neighbourhood) run(t *testing.T) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n.start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		n.clock = clock.New(n.start, 8640)
		n.asked, n.visits = make([]int, len(n.sites)), make([]int, len(n.sites))
		var hosts []string
		var seeds []weburl.URL
		rules := &node.Rules{}
		for site, s := range n.sites {
			hosts = append(hosts, hostOf(site))
			seeds = append(seeds, mustParse(t, "http://"+hostOf(site)+"/"))
			if s.hours != "" {
				rule := node.SiteRule{}
				var err error
				if rule.Match, err = frontier.ParsePattern(hostOf(site)); err != nil {
					t.Fatal(err)
				}
				if rule.Manners.Hours, err = frontier.ParseHours(s.hours); err != nil {
					t.Fatal(err)
				}
				rules.Sites = append(rules.Sites, rule)
			}
		}
		net := newNetworkOf(n, hosts...)
		engine, err := node.Open(node.Options{
			Dir: "data", FS: vfs.NewMem(), Partitions: 2, Clock: n.clock, UserAgent: "freshet-test", Connections: 16,
			Seeds: seeds, Rules: rules, RetryDelay: time.Hour, For: foundBy + time.Duration(n.days)*day, WARCLevel: new(0),
			Delay: 15 * time.Second, DiscoveryShare: new(0.5),
			Refresh: &crawl.Refresh{Budget: n.budget, Policy: "uniform", OnVisit: func(u weburl.URL, at time.Time, _, _ bool) {
				if at.Sub(n.start) >= foundBy {
					n.visits[siteOf(u.Host())]++
				}
			}},
			Fetch: fetch.Options{Resolver: net, Dial: net.dial},
		})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(n.clock.Machine(foundBy))
			for site, s := range n.sites {
				if s.paused {
					err = engine.Pause(weburl.Site("http://"+hostOf(site)), true)
				}
				if s.block {
					err = engine.Block(hostOf(site), time.Time{})
				}
				if err != nil {
					t.Error(err)
				}
			}
		}()
		if _, err := engine.Run(t.Context(), t.Context()); err != nil {
			t.Error(err)
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
		net.stop()
	})
}

func mustParse(t *testing.T, address string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestOneSiteSlowsNoOther keeps eight sites of 25 pages fresh with 200 requests a day: a visit a day for each page. A
// fault of one site takes no visit from the others.
func TestOneSiteSlowsNoOther(t *testing.T) {
	for name, ill := range map[string]neighbour{
		"paused":             {paused: true},
		"an hour a day":      {hours: "1:00-2:00"},
		"patience of a day":  {patience: day},
		"without robots.txt": {noRobots: true},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			const pages, days = 25, 4
			n := &neighbourhood{budget: 8 * pages, days: days, sites: make([]neighbour, 8)}
			for i := range n.sites {
				n.sites[i].pages = pages
			}
			ill.pages = pages
			n.sites[0] = ill
			n.run(t)
			for site, visits := range n.visits[1:] {
				if least := pages * days * 95 / 100; visits < least {
					t.Errorf("site %d was visited %d times: want %d", site+1, visits, least)
				}
			}
			t.Logf("visits by site %v, requests %v", n.visits, n.asked)
		})
	}
}

// TestNobodyPaysForAnother draws neighbourhoods in which some sites have faults. Each other site gets at least 95 % of
// the visits that it gets without the faulty sites, with the budget reduced by their use. FRESHET_SEEDS sets the
// number of neighbourhoods; keepfresh has hundreds for the decision alone.
func TestNobodyPaysForAnother(t *testing.T) {
	seeds := 1
	if n, err := strconv.Atoi(os.Getenv("FRESHET_SEEDS")); err == nil {
		seeds = n
	}
	faults := []neighbour{{paused: true}, {block: true}, {hours: "1:00-2:00"}, {hours: "6:00-12:00"}, {patience: day},
		{patience: 2 * time.Hour}, {overloads: true}, {noRobots: true}}
	const days = 4
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed-", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			with, pages := &neighbourhood{days: days}, 0
			for range 3 + r.IntN(3) {
				with.sites = append(with.sites, neighbour{pages: 20 + r.IntN(20)})
			}
			well := len(with.sites)
			for range 1 + r.IntN(4) {
				ill := faults[r.IntN(len(faults))]
				ill.pages = 10 + r.IntN(30)
				with.sites = append(with.sites, ill)
			}
			for _, s := range with.sites {
				pages += s.pages
			}
			with.budget = int64(pages)
			with.run(t)
			used := 0
			for _, n := range with.asked[well:] {
				used += n
			}
			without := &neighbourhood{days: days, sites: with.sites[:well], budget: with.budget - int64(used/days)}
			without.run(t)
			for site, visits := range without.visits {
				if got := with.visits[site]; got < visits*95/100-1 {
					t.Errorf("site %d has %d visits, and %d without the ill ones", site, got, visits)
				}
			}
			t.Logf("%+v, %d requests of theirs", with.sites[well:], used)
			t.Logf("visits %v, without them %v", with.visits, without.visits)
		})
	}
}
