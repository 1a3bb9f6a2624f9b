package refresh

import (
	"cmp"
	"strings"

	"freshet/change"
)

// A folder is a part of a site's tree of paths; the site itself is its root. What is no page for readers has a tree of
// its own: pictures, styles and sitemaps say nothing of how pages change.
type folder struct {
	parent int32 // -1 for a root
	site   int32
	pages  int32   // that were ever added in it or below it
	weight float64 // of the pages that are there
	group  *group  // what its pages have in common; nil while they are too few
	inner  *group  // the innermost group that it belonged to, when the forest had asOf groups
	asOf   int32
}

// A group is a folder, or the root of a tree, whose pages are many enough to learn from together.
type group struct {
	name    string
	id      ID            // among the groups of all sites
	parent  *group        // of the next folder above that is one; nil for a root
	index   int           // in its site's groups, the same for ever
	first   int           // day of the first visit that may still teach something
	changed bool          // whether one of these saw a change
	drift   float64       // of the shared changes, since its pages were valued
	news    bool          // whether its pages are to be valued again
	prior   change.Belief // of the rates of its pages
	shared  shared        // the changes that they share
	reach   reach         // how far these reach
	folder  int32
	looked  float64               // last visit to one of its pages
	turn    int                   // in its site's pages, of the one that was looked at last
	inverse [change.Rates]float64 // see learner.inverses; the first is 0 when they are to be renewed
}

// A site is two trees of folders, with what was seen of its pages.
type site struct {
	pages  []ID
	groups []*group // as they came into being: that of its pages first, the others after those above them
	visits []span   // that may still teach something about shared changes, in order of time
	next   float64  // when its visits are looked at together again
	fresh  int      // visits since that was done
	renew  float64  // when its priors are learned again, at the latest
	seen   int      // visits of all time that told something
	learnt int      // of these, that its priors rest on
	sums   sum      // of its pages' posteriors, when last looked at
}

// memory returns how many visits to the site may still teach something.
func (s *site) memory() int {
	n := len(s.pages)
	return min(memoryVisits*n, max(memoryOfSite, n/memoryOfMany))
}

// enough returns how many new visits bring the next look forward: the more, the more pages there are.
func (s *site) enough() int {
	return len(s.visits) * memoryVisits * len(s.pages) / s.memory() / freshVisits
}

// name returns the site's.
func (s *site) name() string { return s.groups[0].name }

// A forest knows the folders of all sites.
type forest struct {
	least   int // pages that make a folder a group; 0 for no groups but the sites
	folders []folder
	byName  map[string]int32 // of a root: its site, and "\n" for those apart; of a folder: its root, "\n" and the path
	sites   []*site
	groups  []*group // of all sites
}

// enter returns the folder of a page, which it counts. Folders and groups come into being on the way.
func (f *forest) enter(p Page) int32 {
	if f.byName == nil {
		f.byName = make(map[string]int32)
	}
	root := p.Site
	at, ok := f.byName[root]
	if !ok {
		f.sites = append(f.sites, &site{})
		at = f.make(root, -1, int32(len(f.sites)-1))
	}
	if p.Apart {
		site := f.folders[at].site
		root += "\n"
		if at, ok = f.byName[root]; !ok {
			at = f.make(root, -1, site)
		}
	}
	f.folders[at].pages++
	for i := 0; ; i++ {
		next := strings.IndexByte(p.Path[i:], '/')
		if next < 0 {
			return at
		}
		if i += next; i > 0 {
			at = f.at(root+"\n"+p.Path[:i], at)
		}
	}
}

// at returns the folder of that name below another, which has a page more now.
func (f *forest) at(name string, parent int32) int32 {
	at, ok := f.byName[name]
	if !ok {
		at = f.make(name, parent, f.folders[parent].site)
	}
	here := &f.folders[at]
	here.pages++
	if here.group == nil && f.least > 0 && int(here.pages) >= f.least {
		f.found(at, name)
	}
	return at
}

// make makes a folder without pages. A root is a group from the start.
func (f *forest) make(name string, parent, site int32) int32 {
	at := int32(len(f.folders))
	f.byName[name] = at
	f.folders = append(f.folders, folder{parent: parent, site: site})
	if parent < 0 {
		f.found(at, name)
	}
	return at
}

// found makes a folder a group, which begins with what the group above it believes.
func (f *forest) found(at int32, name string) {
	here := &f.folders[at]
	g := &group{name: name, id: ID(len(f.groups)), folder: at, prior: startingPrior(), shared: shared{mean: baseHazard}, reach: newReach()}
	if here.parent >= 0 {
		g.parent = f.group(here.parent)
		g.prior = g.parent.prior
	}
	here.group = g
	s := f.sites[here.site]
	g.index = len(s.groups)
	s.groups = append(s.groups, g)
	f.groups = append(f.groups, g)
}

// group returns the innermost group that a folder belongs to.
func (f *forest) group(at int32) *group {
	here := &f.folders[at]
	if here.asOf != int32(len(f.groups)) {
		for f.folders[at].group == nil {
			at = f.folders[at].parent
		}
		here.inner, here.asOf = f.folders[at].group, int32(len(f.groups))
	}
	return here.inner
}

// weigh adds to the weight of a folder, and of those above it.
func (f *forest) weigh(at int32, weight float64) {
	for ; at >= 0; at = f.folders[at].parent {
		f.folders[at].weight += weight
	}
}

// within reports whether a folder is that of the group, or below it.
func (f *forest) within(at int32, g *group) bool {
	for at > g.folder { // what is above was there before
		at = f.folders[at].parent
	}
	return at == g.folder
}

// among returns the innermost group that a folder belongs to among the first n of its site: those that were
// there when n was counted, that of the pages at least.
func (f *forest) among(at int32, n int) *group {
	g := f.group(at)
	for g.index >= n {
		g = cmp.Or(g.parent, f.sites[f.folders[at].site].groups[0])
	}
	return g
}

// extend gives the shared changes of groups the first n days. No visit teaches anything yet.
func extend(groups []*group, n int) {
	for _, g := range groups {
		g.shared.extend(n)
		g.first, g.changed = n, false
	}
}

// startingPrior is what is believed of rates before anything was seen: about one change in 128 days, and
// less of any other rate the farther it is.
func startingPrior() change.Belief {
	b := change.Shape(5, 0.7)
	b.Normalise()
	return b
}
