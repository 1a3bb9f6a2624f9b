package adversary

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/fetch"
	"freshet/node"
	"freshet/store"
	"freshet/weburl"
)

var (
	firstSeed = flag.Uint64("seed", 1, "of the first web of TestAdversary")
	seeds     = flag.Int("seeds", 3, "how many webs TestAdversary crawls")
	kinds     = flag.String("kinds", "", "kinds that they play, with commas; empty: all")
)

const (
	interval     = 2 * time.Second
	hostileHosts = 60
	honestHosts  = 4
	honestPages  = 20
	lasts        = 60 * time.Second // a crawl; honestPages+1 requests to a host and some
	webs         = 3                // that play all kinds between them
)

// TestAdversary crawls small webs that mean harm, in memory and in simulated time. Any three seeds in a row
// play all kinds:
//
//	go test ./internal/adversary -seed 100 -seeds 20
//	go test ./internal/adversary -seed 7 -seeds 1 -kinds bomb-br
func TestAdversary(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+uint64(*seeds); seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { crawlOne(t, seed) })
		})
	}
}

func crawlOne(t *testing.T, seed uint64) {
	c := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 1)
	plan := Plan{Seed: seed, Hostile: hostileHosts, Honest: honestHosts, Pages: honestPages, Memory: true}
	for i, kind := range Kinds() {
		if uint64(i)%webs == seed%webs {
			plan.Kinds = append(plan.Kinds, kind.Name)
		}
	}
	if *kinds != "" {
		plan.Kinds = strings.Split(*kinds, ",")
	}
	web, err := NewWeb(plan, c)
	if err != nil {
		t.Fatal(err)
	}
	network := &inMemory{t: t, web: web, asked: map[*Host]int{}}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(web.Authority())
	o := node.Options{
		Dir: t.TempDir(), FS: vfs.Default, Partitions: 2, Clock: c, UserAgent: "freshet-test", Delay: interval, For: lasts,
		MaxBody: 1 << 20, PagesPerSite: 500, Connections: 256, TLSConfig: &tls.Config{RootCAs: pool, Time: c.Now},
		Fetch: fetch.Options{Resolver: network, Dial: network.dial},
	}
	for _, h := range web.Hosts {
		for _, s := range h.Seeds {
			u, err := weburl.Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			o.Seeds = append(o.Seeds, u)
		}
	}
	engine, err := node.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Run(t.Context(), t.Context()); err != nil {
		t.Error(err)
	}
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
	web.Wait()
	judge(t, web, o)
}

// judge holds the result of a crawl. The crawl asked nobody too soon. It stored every page of the honest hosts
// unchanged, and asked for it as soon as politeness allowed.
func judge(t *testing.T, web *Web, o node.Options) {
	t.Helper()
	for i, v := range web.TooSoon(interval, 0) {
		if i < 5 {
			t.Error(v)
		}
	}
	paces := web.Paces()
	if polite := 1 / interval.Seconds(); paces.Least < 0.95*polite {
		t.Errorf("%s was crawled at %.3f pages a second, want %.3f", paces.Slowest, paces.Least, polite)
	}
	s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", ReadOnly: true, Clock: o.Clock})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, h := range web.Honest() {
		for number := range honestPages {
			if err := stored(s, h, number); err != nil {
				t.Errorf("%s%s: %v", h.Name, HonestPath(number), err)
			}
		}
	}
}

// stored returns the reason why the store lacks a page of an honest host, or has it changed.
func stored(s *store.Store, h *Host, number int) error {
	u, err := weburl.Parse(h.url(HonestPath(number)))
	if err != nil {
		return err
	}
	row, fp, err := s.PageOf(u)
	if err != nil || row.State != store.StateLive {
		return fmt.Errorf("state %v, error %w", row.State, err)
	}
	version, err := s.Version(u.Partition(s.Partitions()), fp, row.Versions)
	if err != nil {
		return err
	}
	body, err := s.Body(version.Capture)
	if err == nil && !strings.HasSuffix(string(body.Payload), HonestPage(h.Name, number, honestPages)) {
		err = fmt.Errorf("another body: %.100q", body.Payload)
	}
	return err
}
