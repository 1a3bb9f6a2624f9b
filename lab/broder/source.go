package broder

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"freshet/frontier"
	"freshet/lab"
	"freshet/sim/discovery"
	"freshet/sim/graph"
	"freshet/weburl"
)

// threads are the fetchers of a process, as in the paper.
const threads = 500

// crawled is a web and the order in which a crawl fetched its pages.
type crawled struct {
	web       *graph.Stored
	seed      uint64
	processes int
	fetches   []discovery.Fetch // by their ends
}

// crawl crawls a web with the ordering of that name, with threads for each process.
func (p *parameters) crawl(ctx context.Context, out *lab.Result, web *graph.Stored, order string) (*crawled, error) {
	ordering, err := parseOrdering(order)
	if err != nil {
		return nil, err
	}
	c := &crawled{web: web, seed: p.seed, processes: p.processes}
	o := discovery.Options{
		Ordering: ordering, Connections: threads * p.processes, AdaptiveDelay: p.adaptive,
		Fetched:  func(f discovery.Fetch) { c.fetches = append(c.fetches, f) },
		Progress: func(fetched, known int) { out.Progress("crawling by "+order, fetched, known) },
	}
	if p.adaptive == 0 {
		o.Delay = 15 * time.Second
	}
	_, err = discovery.Crawl(ctx, web, o)
	return c, err
}

// fifo is the paper's ordering: pages go in the order of discovery, within a host and among hosts.
type fifo struct{}

// PageOrder returns 0 for all.
func (fifo) PageOrder(weburl.Link) uint64 { return 0 }

// SitePriority prefers the site whose first page was discovered first.
func (fifo) SitePriority(s frontier.SiteState) float64 { return -float64(s.Top.Arrival) }

func parseOrdering(name string) (frontier.Ordering, error) {
	if name == "fifo" {
		return fifo{}, nil
	}
	ordering, err := frontier.ParseOrdering(name)
	if err != nil {
		return nil, &lab.ParameterError{Name: "order", Value: name, Want: fmt.Sprintf("fifo or an ordering of crawl (%v)", err)}
	}
	return ordering, nil
}

// link is one link of a page.
type link struct {
	fp       weburl.Fingerprint
	site     uint32 // of its target
	resource bool
}

// carried appends all links of a page in order. A recorded web has them all; for a synthetic one, appendLinks adds
// resources and repeats. A link that leads to no page counts for the site of the linking page.
func (c *crawled) carried(dst []link, page, site uint32) []link {
	names, recorded := c.web.Carried(page)
	if !recorded {
		return c.appendLinks(dst, page, site, c.web.Links().Out(page))
	}
	for _, n := range names {
		l := link{name(kindPage, 0, n), site, true}
		if int(n) < c.web.Pages() {
			l.site, l.resource = c.web.SiteOf(n), false
		}
		dst = append(dst, l)
	}
	return dst
}

// appendLinks appends all links of a page in order. The web has each link of a page once, and no resources.
// appendLinks adds resources (15 % of the links; the site's pages share three in five of them) and repeats (after
// every link, others of the page, with probability 0.3 each). It adds the same ones every time.
func (c *crawled) appendLinks(dst []link, page, site uint32, targets []uint32) []link {
	rng := rand.New(rand.NewPCG(c.seed, uint64(page)))
	shared := 3 + uint32(mix(c.seed^uint64(site)<<32)%8)
	start := len(dst)
	add := func(l link) {
		dst = append(dst, l)
		for rng.Float64() < repeats {
			dst = append(dst, dst[start+rng.IntN(len(dst)-start)])
		}
	}
	resources := uint32(0)
	for _, target := range targets {
		for rng.Float64() < resourceShare {
			if rng.Float64() < 0.6 {
				add(link{name(kindShared, site, rng.Uint32N(shared)), site, true})
			} else {
				add(link{name(kindOwn, page, resources), site, true})
				resources++
			}
		}
		add(link{name(kindPage, 0, target), c.web.SiteOf(target), false})
	}
	return dst
}

const (
	repeats       = 0.30
	resourceShare = 0.15
)

// Kinds of names.
const (
	kindPage uint64 = iota
	kindShared
	kindOwn
)

// name returns the fingerprint of a numbered thing.
func name(kind uint64, of, number uint32) weburl.Fingerprint {
	return weburl.Fingerprint(max(1, mix(mix(kind<<32|uint64(of))^uint64(number))))
}

// mix is a bijective hash of 64 bits (the finisher of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// scheme maps a URL to the process that owns it. Cho calls it the partitioning function.
type scheme struct {
	name  string
	owner func(fp weburl.Fingerprint, site uint32) uint64
}

// hostsPerDomain is how many neighbouring sites of a web belong to one domain.
const hostsPerDomain = 4

func schemes() []scheme {
	return []scheme{
		{"host", func(_ weburl.Fingerprint, site uint32) uint64 { return mix(uint64(site)) }},
		{"domain", func(_ weburl.Fingerprint, site uint32) uint64 { return mix(uint64(site / hostsPerDomain)) }},
		{"url", func(fp weburl.Fingerprint, _ uint32) uint64 { return mix(uint64(fp)) }},
	}
}

// trace holds the requests of process 0.
type trace struct {
	full  []weburl.Fingerprint
	cross []weburl.Fingerprint // of these, what other processes own
	by    []uint16             // of each of full, the thread that fetched the page
	pages int
}

// trace returns the requests of process 0 under a scheme, the first most of them (0: all).
func (c *crawled) trace(s scheme, most int) trace {
	owner := func(fp weburl.Fingerprint, site uint32) uint64 { return s.owner(fp, site) % uint64(c.processes) }
	var own []discovery.Fetch
	for _, f := range c.fetches {
		if owner(name(kindPage, 0, f.Page), f.Site) == 0 {
			own = append(own, f)
		}
	}
	by := assign(own)
	var t trace
	var links []link
	for i, f := range own {
		links = c.carried(links[:0], f.Page, f.Site)
		t.pages++
		for _, l := range links {
			if most > 0 && len(t.full) == most {
				return t
			}
			t.full = append(t.full, l.fp)
			t.by = append(t.by, by[i])
			if owner(l.fp, l.site) != 0 {
				t.cross = append(t.cross, l.fp)
			}
		}
	}
	return t
}
