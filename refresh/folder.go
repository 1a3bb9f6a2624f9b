package refresh

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"freshet/change"
)

// levels is how many levels of folders are distinguished below a root. Deeper pages belong to the last one. So a site
// with endless paths costs at most that many folders a page.
const levels = 10

// A folder is a node of a site's tree of paths; the root is the site. Pictures, styles and sitemaps are in a separate
// tree, because their changes say nothing about those of pages.
type folder struct {
	parent int32 // -1 for a root
	site   int32
	pages  int32   // ever added in it or below it
	weight float64 // of the present pages
	own    int32   // ever added in it and not below it, and the page of its name
	kin    []ID    // those of them that are present, while they were few, see forest.join
	looked float64 // last visit to one of them
	told   float64 // last visit to one of them that told the others of a change
	group  *group  // nil while it has too few pages
	inner  *group  // its innermost group when the forest had asOf groups
	asOf   int32
}

// A group is a folder with enough pages to learn from together, or the root of a tree.
type group struct {
	id      ID            // among the groups of all sites
	parent  *group        // the nearest group above; nil for a root
	index   int           // in its site's groups; it never changes
	first   int           // day of the first visit that is not forgotten
	changed bool          // whether a visit since then saw a change
	drift   float64       // change of its shared hazards since its pages were valued
	news    bool          // its pages must be valued again
	prior   change.Belief // of the rates of its pages
	shared  shared        // the changes that they share
	reach   reach         // which share of them reaches a page
	folder  int32
	looked  float64               // last visit to one of its pages
	turn    int                   // index in its site's pages of the last look
	inverse [change.Rates]float64 // see learner.inverses; the first is 0 if they are outdated
}

// A site is two trees of folders, with the visits to its pages.
type site struct {
	name   string
	pages  []ID
	groups []*group // in order of creation: that of its pages first, each after those above it
	visits []span   // not yet forgotten, in order of time
	next   float64  // when to learn from its visits together again
	fresh  int      // visits since the last time
	renew  float64  // latest time to learn its priors again
	seen   int      // visits so far that showed whether a page changed
	learnt int      // those of them on which its priors rest
	sums   sum      // of its pages' posteriors, when last computed
}

// memory returns how many visits to the site are remembered.
func (s *site) memory() int {
	n := len(s.pages)
	return min(memoryVisits*n, max(memoryOfSite, n/memoryOfMany))
}

// enough returns how many new visits bring the next learning forward. It grows with the number of pages.
func (s *site) enough() int {
	return len(s.visits) * memoryVisits * len(s.pages) / s.memory() / freshVisits
}

// A forest knows the folders of all sites.
type forest struct {
	least   int // pages that make a folder a group; 0: only sites are groups
	folders []folder
	roots   map[string]int32 // by site, and by site and "\n" for the tree of pages apart
	inner   map[child]int32  // folders but the roots
	sites   []*site
	groups  []*group     // of all sites
	named   map[ID]int32 // pages with the name of a folder, and that folder: /a/b of /a/b/c
	find    func(parent int32, site, path string) (ID, bool)
}

// enter returns the folder of a page and counts the page. It makes folders and groups as needed.
func (f *forest) enter(p Page) int32 {
	if f.roots == nil {
		f.roots, f.inner, f.named = map[string]int32{}, map[child]int32{}, map[ID]int32{}
	}
	at, ok := f.roots[p.Site]
	if !ok {
		f.sites = append(f.sites, &site{name: p.Site})
		at = f.make(-1, int32(len(f.sites)-1))
		f.roots[p.Site] = at
	}
	if p.Apart {
		site, root := f.folders[at].site, rootOf(p)
		if at, ok = f.roots[root]; !ok {
			at = f.make(-1, site)
			f.roots[root] = at
		}
	}
	f.folders[at].pages++
	for path := range folders(p.Path) {
		at = f.at(p.Site, path, at)
	}
	return at
}

// folders returns the paths of a page's folders, the outermost first: /a and /a/b of /a/b/c. Of a deep page they are
// the first levels.
func folders(page string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, n := 1, 0; i < len(page) && n < levels; i++ {
			if page[i] == '/' {
				if n++; !yield(page[:i]) {
					return
				}
			}
		}
	}
}

// rootOf returns the name of a page's root.
func rootOf(p Page) string {
	if p.Apart {
		return p.Site + "\n"
	}
	return p.Site
}

// A child is a folder by the one above it, and the hash of its name there.
type child struct {
	parent int32
	name   uint64
}

func childOf(parent int32, path string) child {
	return child{parent, xxh3.HashString(path[strings.LastIndexByte(path, '/')+1:])}
}

// at returns the folder with that path below parent, and counts one more page in it.
func (f *forest) at(site, path string, parent int32) int32 {
	name := childOf(parent, path)
	at, ok := f.inner[name]
	if !ok {
		at = f.make(parent, f.folders[parent].site)
		f.inner[name] = at
		if f.find != nil {
			if id, some := f.find(parent, site, path); some {
				f.join(at, id)
				f.named[id] = at
			}
		}
	}
	here := &f.folders[at]
	here.pages++
	if here.group == nil && f.least > 0 && int(here.pages) >= f.least {
		f.found(at)
	}
	return at
}

// make makes a folder without pages. A root is a group from the start.
func (f *forest) make(parent, site int32) int32 {
	at := int32(len(f.folders))
	f.folders = append(f.folders, folder{parent: parent, site: site})
	if parent < 0 {
		f.found(at)
	}
	return at
}

// namesake returns the folder with the path of a page, if there is one.
func (f *forest) namesake(p Page) (at int32, ok bool) {
	at, last := f.roots[rootOf(p)], ""
	for path := range folders(p.Path + "/") {
		if at, ok = f.inner[childOf(at, path)]; !ok {
			return 0, false
		}
		last = path
	}
	return at, ok && last == p.Path
}

// found makes a folder a group. It starts with the beliefs of the group above it.
func (f *forest) found(at int32) {
	here := &f.folders[at]
	g := &group{id: ID(len(f.groups)), folder: at, prior: startingPrior(), shared: shared{mean: baseHazard}, reach: newReach()}
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

// join makes a page kin of a folder's others, as long as fewer than least were ever in it.
func (f *forest) join(at int32, id ID) {
	here := &f.folders[at]
	if here.own++; int(here.own) < f.least {
		here.kin = append(here.kin, id)
	} else {
		here.kin = nil
	}
}

// settle makes a page kin of the others in its folder, and of the pages in the folder that has its name.
func (f *forest) settle(at int32, id ID, p Page) {
	f.join(at, id)
	if own, ok := f.namesake(p); ok {
		f.join(own, id)
		f.named[id] = own
	}
}

// leave ends what settle began.
func (f *forest) leave(at int32, id ID) {
	f.part(at, id)
	if own, ok := f.named[id]; ok {
		f.part(own, id)
		delete(f.named, id)
	}
}

func (f *forest) part(at int32, id ID) {
	here := &f.folders[at]
	here.kin = slices.DeleteFunc(here.kin, func(other ID) bool { return other == id })
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

// weigh adds weight to a folder and to those above it.
func (f *forest) weigh(at int32, weight float64) {
	for ; at >= 0; at = f.folders[at].parent {
		f.folders[at].weight += weight
	}
}

// within reports whether a folder is the group's or is below it.
func (f *forest) within(at int32, g *group) bool {
	for at > g.folder { // a folder's number is above its parent's
		at = f.folders[at].parent
	}
	return at == g.folder
}

// among returns the innermost group of a folder among the first n groups of its site: those that existed when n was
// counted, at least that of the pages.
func (f *forest) among(at int32, n int) *group {
	g := f.group(at)
	for g.index >= n {
		g = cmp.Or(g.parent, f.sites[f.folders[at].site].groups[0])
	}
	return g
}

// extend gives groups shared changes for the first n days, without any visit.
func extend(groups []*group, n int) {
	for _, g := range groups {
		g.shared.extend(n)
		g.first, g.changed = n, false
	}
}

// startingPrior returns the belief about rates before any visit. It is centred on one change in 128 days and falls on
// both sides.
func startingPrior() change.Belief {
	b := change.Shape(5, 0.7)
	b.Normalise()
	return b
}
