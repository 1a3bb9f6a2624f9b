package graph

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"freshet/importance"
	"freshet/sim/discovery"
)

// Recipe has the parameters of a generated web.
type Recipe struct {
	Seed  uint64
	Sites int
	// HomeShare is the share of links to another site that lead to its home page, not counting copied links. With 0.6,
	// importance depends mostly on the site; with 0.05, mostly on the page.
	HomeShare float64
}

// Recipes returns the recipes of the named webs, by name.
func Recipes() map[string]Recipe {
	return map[string]Recipe{
		"web-5k":  {Seed: 1, Sites: 5000, HomeShare: 0.6},
		"web-20k": {Seed: 2, Sites: 20_000, HomeShare: 0.6},
		"web-big": {Seed: 3, Sites: 5000, HomeShare: 0.05},
	}
}

// Names returns the names of Recipes, sorted.
func Names() []string { return slices.Sorted(maps.Keys(Recipes())) }

// Named generates the web with the given name. web-5k and web-20k have 5,000 and 20,000 sites. web-big is like web-5k,
// but fewer of its links lead to homes. Each takes one to four seconds. The error for an unknown name lists the names.
func Named(ctx context.Context, name string) (*Stored, Shape, error) {
	recipe, ok := Recipes()[name]
	if !ok {
		return nil, Shape{}, fmt.Errorf("graph: no web %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	return Generate(ctx, recipe)
}

// Generate returns a web and the shape of its links. The shape includes resources and repeats, which the web leaves
// out. Generate fills the pages in random order, as if many people wrote them. Each link may be copied from an earlier
// one. The time is proportional to the number of links, about 40 a page. Generate returns an error if the recipe is
// invalid or ctx ends.
func Generate(ctx context.Context, recipe Recipe) (*Stored, Shape, error) {
	if recipe.Sites < 1 || !(recipe.HomeShare >= 0 && recipe.HomeShare <= 1) {
		return nil, Shape{}, fmt.Errorf("graph: %d sites, share of homes %v: want 1 or more and 0 to 1", recipe.Sites, recipe.HomeShare)
	}
	g := newGenerator(recipe)
	for n, page := range g.rng.Perm(len(g.web.bytes)) {
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, Shape{}, ctx.Err()
		}
		g.fill(uint32(page))
	}
	return g.finish()
}

// generator is a web that is being generated.
type generator struct {
	recipe  Recipe
	rng     *rand.Rand
	web     *Stored
	sites   []growing
	outside []uint32   // targets of all links between sites so far, to copy from
	links   [][]uint32 // of each page
	tally   tally

	mark  []uint32 // of each page, the page that linked to it last, plus one
	draft []uint32 // links of the page being filled
}

// growing is a site that is being generated.
type growing struct {
	tree
	shared  int      // resources that its pages share
	inside  []uint32 // targets of its inner links, to copy from; numbered within it
	outside []uint32 // targets of its links to other sites, to copy from
}

func newGenerator(recipe Recipe) *generator {
	g := &generator{recipe: recipe, rng: rand.New(rand.NewPCG(recipe.Seed, 1)), sites: make([]growing, recipe.Sites)}
	w := &Stored{first: make([]uint32, recipe.Sites+1), homes: make([]uint32, recipe.Sites), servers: make([]discovery.Server, recipe.Sites)}
	total := uint32(0)
	for i := range g.sites {
		size := siteSize(g.rng.Float64())
		g.sites[i] = growing{tree: newTree(g.rng, size), shared: 3 + g.rng.IntN(8)}
		w.first[i], w.homes[i], w.servers[i] = total, total, server(g.rng)
		total += uint32(size)
	}
	w.first[recipe.Sites] = total
	w.bytes = make([]float32, total)
	for i := range w.bytes {
		w.bytes[i] = float32(pageBytes(g.rng))
	}
	g.web, g.links, g.mark = w, make([][]uint32, total), make([]uint32, total)
	return g
}

// attempts is how often a link that repeats another is drawn again. After that the page gets one link less.
const attempts = 20

// fill makes a page's links.
func (g *generator) fill(page uint32) {
	site := g.web.SiteOf(page)
	s := &g.sites[site]
	base := g.web.first[site]
	g.draft = g.draft[:0]
	resources := 0 // bits of the shared resources that the page has
	first, end := s.childrenOf(int(page - base))
	for child := first; child < end; child++ {
		g.link(page, base+uint32(child), true)
	}
	want := linkCount(g.rng, end-first)
	for try := 0; g.tally.urls < want && try < attempts; try++ {
		before := g.tally.urls
		switch u := g.rng.Float64(); {
		case u < resourceShare:
			g.resource(s, &resources)
		case u < siteShare:
			g.link(page, base+uint32(g.drawInside(s, int(page-base))), true)
		default:
			g.link(page, g.drawOutside(s), false)
		}
		if g.tally.urls > before {
			try = -1
		}
	}
	g.tally.page()
	g.links[page] = slices.Clone(g.draft)
}

// resource links to a picture or a style sheet: one that the site's pages share, or the page's own.
func (g *generator) resource(s *growing, have *int) {
	if g.rng.Float64() < 0.6 {
		bit := 1 << g.rng.IntN(s.shared)
		if *have&bit != 0 {
			return
		}
		*have |= bit
	}
	g.tally.link(g.rng, true)
}

// link adds a link to a page, unless it exists or leads to the page itself.
func (g *generator) link(page, target uint32, inside bool) {
	if target == page {
		return
	}
	if g.mark[target] == page+1 {
		return
	}
	inside = inside || g.web.SiteOf(target) == g.web.SiteOf(page)
	g.note(page, target, inside)
	g.mark[target] = page + 1
	g.draft = append(g.draft, target)
	g.tally.link(g.rng, inside)
}

// note stores a link so that later links can be copied from it.
func (g *generator) note(page, target uint32, inside bool) {
	site := g.web.SiteOf(page)
	s := &g.sites[site]
	if inside {
		s.inside = append(s.inside, target-g.web.first[site])
		return
	}
	s.outside = append(s.outside, target)
	g.outside = append(g.outside, target)
}

// drawInside draws a page of the site, numbered within it.
func (g *generator) drawInside(s *growing, page int) int {
	switch u := g.rng.Float64(); {
	case u < 0.40:
		return g.rng.IntN(s.top)
	case u < 0.75:
		return s.near(g.rng, page)
	case g.rng.Float64() < 0.7 && len(s.inside) > 0:
		return int(s.inside[g.rng.IntN(len(s.inside))])
	}
	return g.rng.IntN(s.pages)
}

// drawOutside draws a page of any site.
func (g *generator) drawOutside(s *growing) uint32 {
	switch {
	case g.rng.Float64() < 0.5 && len(s.outside) > 0:
		return s.outside[g.rng.IntN(len(s.outside))]
	case g.rng.Float64() < 0.62 && len(g.outside) > 0:
		return g.outside[g.rng.IntN(len(g.outside))]
	case g.rng.Float64() < g.recipe.HomeShare:
		return g.web.homes[g.rng.IntN(len(g.web.homes))]
	}
	return uint32(g.rng.IntN(len(g.web.bytes)))
}

func (g *generator) finish() (*Stored, Shape, error) {
	var b importance.Builder
	total := 0
	for _, links := range g.links {
		total += len(links)
	}
	b.Grow(len(g.links), total)
	for _, links := range g.links {
		if err := b.Add(links); err != nil {
			return nil, Shape{}, err
		}
	}
	var err error
	if g.web.links, err = b.Graph(); err != nil {
		return nil, Shape{}, err
	}
	return g.web, g.tally.shape(g.web.Sites(), g.web.links.InDegrees()), nil
}
