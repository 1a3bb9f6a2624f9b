package sim

import (
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"freshet/weburl"
)

// Web is a synthetic web. Its methods are safe for concurrent use. Their results depend only on the Config and the
// arguments; only serving reads the clock.
type Web struct {
	config   Config
	language *language
	sites    []*site
	byHost   map[string]*site
}

// NewWeb returns the web of a Config, or all faults of the Config, joined. O(sites).
func NewWeb(config Config) (*Web, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	w := &Web{
		config:   config,
		language: newLanguage(rand.New(rand.NewPCG(config.Seed, 0x1a46))),
		byHost:   map[string]*site{},
	}
	for i, pages := range siteSizes(config.Sites, config.Pages) {
		s := newSite(w, i, pages)
		w.sites = append(w.sites, s)
		w.byHost[s.host] = s
	}
	return w, nil
}

// siteSizes divides pages among sites by a power law. Each site gets at least minSitePages.
func siteSizes(sites, pages int) []int {
	const exponent = 0.8
	sum := 0.0
	for i := range sites {
		sum += math.Pow(float64(i+1), -exponent)
	}
	sizes := make([]int, sites)
	spare := pages - sites*minSitePages
	left := spare
	for i := range sizes {
		share := int(float64(spare) * math.Pow(float64(i+1), -exponent) / sum)
		sizes[i] = minSitePages + share
		left -= share
	}
	sizes[0] += left
	return sizes
}

// Start returns when the pages had their first version.
func (w *Web) Start() time.Time { return w.config.Start }

// Config returns the web's configuration with all defaults filled in.
func (w *Web) Config() Config { return w.config }

// Hosts returns the names of all hosts, the largest site's first.
func (w *Web) Hosts() []string {
	hosts := make([]string, len(w.sites))
	for i, s := range w.sites {
		hosts[i] = s.host
	}
	return hosts
}

// Homes returns the home page of every site, in the order of Hosts. They are the seeds for a crawl.
func (w *Web) Homes() []weburl.URL {
	homes := make([]weburl.URL, len(w.sites))
	for i, s := range w.sites {
		homes[i] = s.url("/")
	}
	return homes
}

// Pages returns how many pages all sites have together, including those that have vanished or not appeared yet.
func (w *Web) Pages() int { return w.config.Pages }

// All yields every page that exists at t, site by site.
func (w *Web) All(t time.Time) iter.Seq[weburl.URL] {
	elapsed := t.Sub(w.config.Start)
	return func(yield func(weburl.URL) bool) {
		for _, s := range w.sites {
			for page := range s.pages {
				if s.alive(page, elapsed) && !yield(s.url(s.path(page))) {
					return
				}
			}
		}
	}
}

// mix hashes several numbers to one. It applies the finaliser of SplitMix64 after each.
func mix(parts ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, p := range parts {
		h = (h ^ p) + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}
