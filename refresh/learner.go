package refresh

import (
	"fmt"
	"math"
	"slices"

	"freshet/change"
)

// Learning says how a policy learns what it believes. The zero value learns each page's rate, with the
// pages of its site for a prior.
type Learning struct {
	Forget float64 // seconds after which half of what is known of a page is doubted (e-folding); 0: never
	Shared bool    // learn also the changes that pages share
	Folder int     // pages that make a folder a group of its own; 0: only sites are groups
	Nested bool    // a page shares the changes of every group above it, not only the innermost
	Hours  bool    // learn also at which hour of the day a page changes
}

const (
	usualDays    = 730      // from which the usual hazard of shared changes is taken
	memoryDays   = 250      // visits older than that no longer change what is believed of shared changes
	memoryVisits = 8        // nor do visits earlier than so many a page,
	memoryOfSite = 1024     // and so many of all pages of a site: of a large one
	memoryOfMany = 4        // a visit to one page in so many
	steps        = 3        // of expectation and maximisation, each time
	lookEvery    = 2 * day  // between two looks at a site's visits together, at most
	freshVisits  = 256      // is one over the share of new visits among the last that brings the next look forward
	doubt        = 2        // visits to a group a day that what is expected of shared changes is worth
	priorEvery   = 14 * day // until a site's priors are learned again, or sooner, see renewable
	significant  = 0.02     // shared changes that must be seen differently until pages are valued again
	// that those of the group above are worth in a group's prior, and those of all sites in a site's
	abovePages  = 5
	unseenPages = 1e-3 // that what was believed before any visit is worth in that of all sites
)

// state is what a learner knows of one page, apart from its evidence. There is one for every page, so it is small: what
// few pages have stands in maps of the learner.
type state struct {
	seen   float64 // last visit that told something
	weight float32
	folder int32
	index  int32  // in its site's pages
	source Source // of the open claim, 0 if there is none
	marks  marks
}

// marks say what is so of a page.
type marks uint8

const (
	there   marks = 1 << iota // the page is known
	out                       // it is held out of the answers
	asked                     // it is out for what it tells of its group
	told                      // a visit has told something
	failed                    // visits since seen told nothing: the last one is in learner.failed
	watched                   // it has hours in learner.hours
)

func (m marks) has(one marks) bool { return m&one != 0 }

func (m *marks) set(one marks, to bool) {
	if *m &^= one; to {
		*m |= one
	}
}

// A sum is of posteriors, by rate.
type sum [change.Rates]float64

// A learner is the memory that policies share: of every page a posterior over its rate, from a prior that
// its group's pages make together, and, if wanted, the shared changes of every group.
type learner struct {
	options Learning
	forest  forest
	pages   []state
	beliefs []change.Packed          // by ID: the evidence
	failed  map[ID]float64           // last visits, of pages on which the last told nothing
	hours   map[ID]*change.Timetable // of pages that were visited twice within a day
	claims  map[ID]float32           // changes that open claims add to those expected, see Claim
	origin  float64                  // day 0, in seconds
	begun   bool
	due     Queue         // sites, by when to learn from them
	overall change.Belief // of a page of any site
	trust   map[claimant]change.Trust
	sums    sum // of the posteriors of all pages, when last looked at
	scratch struct{ count, exposed []tally }
	changed []span // scratch
}

func newLearner(o Learning) learner {
	return learner{options: o, forest: forest{least: o.Folder}, overall: startingPrior(),
		failed: map[ID]float64{}, hours: map[ID]*change.Timetable{}, claims: map[ID]float32{}}
}

func (l *learner) add(id ID, p Page) {
	l.pages, l.beliefs = Grown(l.pages, id), Grown(l.beliefs, id)
	s := &l.pages[id]
	if s.marks.has(there) {
		panic(fmt.Sprintf("refresh: page %d is added twice", id))
	}
	if !l.begun {
		l.begun, l.origin = true, p.Fresh
	}
	fresh := p.Fresh
	folder := l.forest.enter(p)
	home := l.forest.sites[l.forest.folders[folder].site]
	*s = state{seen: fresh, weight: float32(p.Weight), folder: folder, index: int32(len(home.pages)), marks: there}
	l.beliefs[id] = change.Packed{}
	home.pages = append(home.pages, id)
	l.forest.weigh(folder, float64(s.weight))
	if site := ID(l.forest.folders[folder].site); !l.due.Has(site) {
		home.next, home.renew = fresh+lookEvery, fresh+priorEvery
		l.due.Set(site, home.next)
	}
}

func (l *learner) remove(id ID) {
	s := l.must(id)
	l.forest.weigh(s.folder, -float64(s.weight))
	home := l.site(s)
	last := home.pages[len(home.pages)-1]
	home.pages[s.index] = last
	l.pages[last].index = s.index
	home.pages = home.pages[:len(home.pages)-1]
	s.marks, s.source = 0, 0
	delete(l.failed, id)
	delete(l.hours, id)
	delete(l.claims, id)
}

func (l *learner) weigh(id ID, weight float64) {
	s := l.must(id)
	l.forest.weigh(s.folder, float64(float32(weight))-float64(s.weight))
	s.weight = float32(weight)
}

func (l *learner) must(id ID) *state {
	if int(id) >= len(l.pages) || !l.pages[id].marks.has(there) {
		panic(fmt.Sprintf("refresh: no page %d", id))
	}
	return &l.pages[id]
}

// tried returns when the page was visited last.
func (l *learner) tried(id ID) float64 {
	if s := &l.pages[id]; !s.marks.has(failed) {
		return s.seen
	}
	return l.failed[id]
}

// timetable returns what is believed of the page's hours, nil where visits are too rare to tell.
func (l *learner) timetable(id ID) *change.Timetable {
	if !l.pages[id].marks.has(watched) {
		return nil
	}
	return l.hours[id]
}

// claimed returns the changes that an open claim adds to those expected of the page.
func (l *learner) claimed(id ID) float64 {
	if l.pages[id].source == 0 {
		return 0
	}
	return float64(l.claims[id])
}

// posterior returns what is believed of the page's rate.
func (l *learner) posterior(id ID) change.Belief {
	evidence := l.beliefs[id].Evidence()
	return evidence.Posterior(&l.forest.group(l.pages[id].folder).prior)
}

func (l *learner) site(s *state) *site { return l.forest.sites[l.forest.folders[s.folder].site] }

// days returns the days from the first that is remembered to a time; 0 before it.
func (l *learner) days(t float64) float64 { return math.Max(0, (t-l.origin)/day) }

// visited learns from a visit.
func (l *learner) visited(id ID, v Visit) {
	s := l.must(id)
	sentinel := s.marks.has(asked)
	s.marks.set(out|asked, false)
	length := v.At - s.seen
	if v.Outcome == Unknown || !(length > 0) {
		l.failed[id] = math.Max(l.tried(id), v.At)
		s.marks.set(failed, true)
		return
	}
	g := l.forest.group(s.folder)
	home := l.site(s)
	changed := v.Outcome == Changed
	from, to := l.days(s.seen), l.days(v.At)
	shared, claimed := l.shared(g, from, to), 0.0
	lived := l.timetable(id).Own(s.seen, v.At)
	evidence := l.beliefs[id].Evidence()
	belief := evidence.Posterior(&g.prior)
	shares := l.shares(g)
	if shares || s.source != 0 {
		own := -math.Log(belief.Unchanged(lived))
		claimed = l.judge(id, own+shared, changed)
		if shares {
			seen := own + claimed + l.landed(g, from, to)
			l.judgeReach(g, from, to, own+claimed+shared, changed)
			l.see(g, from, to, seen, changed)
			home.visits = append(home.visits, span{float32(from), float32(to), float32(own + claimed), s.folder, changed})
		}
	}
	evidence.Visit(lived, shared+claimed, changed)
	forget := 0.0
	if l.options.Forget > 0 {
		forget = -math.Expm1(-length / l.options.Forget)
	}
	if l.options.Hours {
		l.seeHours(id, v.At, changed, forget, func(own float64) float64 {
			return math.Exp(-shared-claimed) * belief.Unchanged(own)
		})
	}
	evidence.Scale(&g.prior, forget)
	l.beliefs[id] = evidence.Pack(math.Float64bits(v.At))
	l.seen(id, v.At)
	home.seen++
	home.fresh++
	// what a look has found others wait for
	if changed && sentinel || shares && home.fresh > home.enough() {
		home.next = math.Min(home.next, v.At)
	}
	if home.next <= v.At || home.renewable() || l.news(g) {
		l.due.Set(ID(l.forest.folders[s.folder].site), v.At)
	}
}

// seen notes a visit that told something. A later one that failed stays the last.
func (l *learner) seen(id ID, at float64) {
	s := &l.pages[id]
	if s.marks.has(failed) && l.failed[id] <= at {
		delete(l.failed, id)
		s.marks.set(failed, false)
	}
	s.seen = at
	s.marks.set(told, true)
}

// see takes up a visit in the shared changes of its group and those above, at once: the others of a folder in which
// something has happened are worth more now, not at the next look.
func (l *learner) see(g *group, from, to, expected float64, changed bool) {
	explained := 0.0
	if changed {
		explained = 1 / probability(expected)
	}
	l.chain(g, func(g *group) { g.drift += g.shared.see(from, to, explained) })
}

// news reports whether the shared changes of a group, or of one above it, are seen so differently that its pages
// are to be valued again.
func (l *learner) news(g *group) (news bool) {
	l.chain(g, func(g *group) { news = news || g.drift > significant })
	return news
}

// seeHours learns from a visit when the page changes, once it was visited twice within a day.
func (l *learner) seeHours(id ID, at float64, changed bool, forget float64, unchanged func(own float64) float64) {
	s := &l.pages[id]
	if !s.marks.has(watched) && at-s.seen < day {
		l.hours[id] = change.NewTimetable()
		s.marks.set(watched, true)
	}
	if hours := l.timetable(id); hours != nil {
		hours.See(s.seen, at, changed, forget, unchanged)
	}
}

// steady returns for how long the worth of a visit to the page rises no faster than a power of time.
func (l *learner) steady(id ID) float64 {
	if l.timetable(id).Punctual() {
		return day / 96
	}
	return math.Inf(1)
}

// shares reports whether a group has enough pages to learn what they share. A folder that is a group always has. A
// site may have only one or two.
func (l *learner) shares(g *group) bool {
	return l.options.Shared && int(l.forest.folders[g.folder].pages) >= l.options.Folder
}

// shared returns the changes that a page of the group is expected to share between two days: those that were seen on
// others, as far as they reach.
func (l *learner) shared(g *group, from, to float64) (sum float64) {
	l.chain(g, func(g *group) { sum += g.reach.mean * g.shared.between(from, to) })
	return sum
}

// landed returns the changes that pages of the group shared between two days, as visits that are known tell.
func (l *learner) landed(g *group, from, to float64) (sum float64) {
	l.chain(g, func(g *group) { sum += g.shared.between(from, to) })
	return sum
}

// judgeReach learns from a visit how far the shared changes of a group, and of those above it, reach. It is told how
// many changes of the page were expected in all: its own, claimed and shared.
func (l *learner) judgeReach(g *group, from, to, expected float64, changed bool) {
	l.chain(g, func(g *group) {
		landed := g.shared.between(from, to)
		g.reach.see(expected-g.reach.mean*landed, landed, changed)
	})
}

// sentinel returns the page of the group whose turn it is to be looked at: each has its turn. O(pages of the site),
// on average as many as the site has for each of the group's.
func (l *learner) sentinel(g *group) (ID, bool) {
	pages := l.forest.sites[l.forest.folders[g.folder].site].pages
	for range pages {
		if g.turn++; g.turn >= len(pages) {
			g.turn = 0
		}
		id := pages[g.turn]
		if s := &l.pages[id]; !s.marks.has(out) && s.weight > 0 && l.forest.within(s.folder, g) {
			return id, true
		}
	}
	return 0, false
}

// usual returns the shared changes of a usual second that a page of the group takes part in.
func (l *learner) usual(g *group) float64 {
	usual := 0.0
	l.chain(g, func(g *group) { usual += g.reach.mean * g.shared.mean })
	return usual / day
}

// inverses returns, for each rate of the grid, one over the hazard of a usual second, shared changes
// included.
func (l *learner) inverses(g *group) *[change.Rates]float64 {
	if g.inverse[0] == 0 {
		usual := l.usual(g)
		for k := range g.inverse {
			g.inverse[k] = 1 / (change.GridRate(k) + usual)
		}
	}
	return &g.inverse
}

// chain calls f for the groups whose changes a page of the group shares.
func (l *learner) chain(g *group, f func(*group)) {
	if !l.shares(g) {
		return
	}
	for f(g); l.options.Nested && g.parent != nil; {
		g = g.parent
		f(g)
	}
}

// learn looks at the sites that are due, and tells which pages may be worth another value now. Between
// pieces pages may come, go and be visited: what is seen of a site meanwhile, and groups that are founded,
// wait for the next look at it.
func (l *learner) learn(now float64, p *pieces, revalue func(ID)) {
	for l.due.Len() > 0 {
		id, at := l.due.First()
		if at > now {
			return
		}
		s := l.forest.sites[id]
		groups := s.groups[:len(s.groups):len(s.groups)]
		renewed := now >= s.renew || s.renewable()
		if renewed {
			s.renew = now + priorEvery
			l.renewPriors(s, groups, p)
		}
		if now >= s.next {
			s.next, s.fresh = now+lookEvery, 0
			if len(s.visits) > 0 {
				l.fit(s, groups, l.days(now), p)
			}
		}
		l.due.Set(id, s.next)
		l.revalue(s, groups, renewed, p, revalue)
	}
}

// renewable reports whether the visits of a site are so many more than those that its priors rest on that they are
// worth learning again: a fifth of all, and one to 64 pages. Of a new site each visit counts: were the first ones taken
// together, much would rest on how many they happened to be, and a restart, which does not count those of pages that
// are gone, would believe something else.
func (s *site) renewable() bool {
	return s.seen-s.learnt >= max(1, s.learnt/4, len(s.pages)/64)
}

// revalue calls f for the pages of a site of which more is known now: all, or those of groups whose shared
// changes are seen differently.
func (l *learner) revalue(s *site, groups []*group, all bool, p *pieces, f func(ID)) {
	news := all
	for _, g := range groups {
		// Groups above come before those below.
		g.news = all || g.drift > significant || l.options.Nested && g.parent != nil && g.parent.news
		news = news || g.news
		if g.news {
			g.drift = 0
		}
	}
	if !news {
		return
	}
	for i := 0; i < len(s.pages); i++ {
		if id := s.pages[i]; l.forest.among(l.pages[id].folder, len(groups)).news {
			f(id)
		}
		p.did(1)
	}
}

// renewPriors learns the priors of a site's groups by expectation and maximisation. One step at each renewal would stay
// near the prior that all pages start from: rates differ more than a visit or two a page can tell in one step. A site
// of a page or two takes as many steps as it has pages: more would believe each page's own visits twice.
func (l *learner) renewPriors(s *site, groups []*group, p *pieces) {
	s.learnt = s.seen
	sums := make([]sum, len(groups))
	for range min(steps, len(s.pages)) {
		l.stepPriors(s, groups, sums, p)
	}
	total := 0.0
	for k, v := range sums[0] {
		l.sums[k] += v - s.sums[k]
		total += l.sums[k]
	}
	s.sums = sums[0]
	// What was never seen counts as well, a little: each rate stays possible. Without it what is left of a
	// rate that no page has is the rounding of the sums, of either sign.
	unseen := startingPrior()
	for k := range l.overall {
		l.overall[k] = float32((math.Max(0, l.sums[k]) + unseenPages*float64(unseen[k])) / (total + unseenPages))
	}
}

// stepPriors makes each group's prior the mean of its pages' posteriors, smoothed, and of some pages of the kind that
// the group above it has, of a site the kind that all sites have. Pages that were not visited yet say nothing but the
// prior itself, and are left out: with them a wrong prior would last until most were. It leaves the sums of the
// posteriors of each group's pages, those below included.
func (l *learner) stepPriors(s *site, groups []*group, sums []sum, p *pieces) {
	clear(sums)
	for i := 0; i < len(s.pages); i++ {
		if page := &l.pages[s.pages[i]]; page.marks.has(told) {
			g := l.forest.among(page.folder, len(groups))
			evidence := l.beliefs[s.pages[i]].Evidence()
			posterior := evidence.Posterior(&g.prior)
			for k, v := range posterior {
				sums[g.index][k] += float64(v)
			}
		}
		p.did(1) // after which there may be fewer pages
	}
	for i, g := range slices.Backward(groups) { // those below before those above
		p.did(1)
		for k, v := range sums[i] {
			if g.parent != nil {
				sums[g.parent.index][k] += v
			}
		}
	}
	for i, g := range groups {
		p.did(1)
		above := &l.overall
		if g.parent != nil {
			above = &g.parent.prior
		}
		for k, v := range sums[i].smoothed() {
			g.prior[k] = float32(v + abovePages*float64(above[k]))
		}
		g.prior.Normalise()
	}
}

// smoothed gives a quarter of what each rate has to either neighbour. Without it the steps end at a few rates that no
// page is between, and pages that seem to have the slowest of them are given up (Silverman et al. 1990).
func (s *sum) smoothed() sum {
	var t sum
	last := len(s) - 1
	for k, v := range s {
		t[k] += v / 2
		t[max(0, k-1)] += v / 4
		t[min(last, k+1)] += v / 4
	}
	return t
}

// fit learns the shared changes of a site's groups from its visits, by expectation (how much of a change
// that was seen each day of its span explains) and maximisation (a day's hazard is the changes that it
// explains over the visits that cover it).
func (l *learner) fit(s *site, groups []*group, now float64, p *pieces) {
	n := int(now) + 1
	extend(groups, n)
	l.forgetOld(s, groups, now, p)
	visits, changed := s.visits, l.changed[:0]
	for _, v := range visits {
		p.did(1)
		g := l.forest.among(v.folder, len(groups))
		g.first = min(g.first, int(v.from))
		if v.changed {
			g.changed = true
			changed = append(changed, v)
		}
	}
	l.changed = changed
	for _, g := range slices.Backward(groups) { // those below before those above
		if up := g.parent; l.options.Nested && up != nil {
			up.first, up.changed = min(up.first, g.first), up.changed || g.changed
		}
	}
	count, exposed := l.tallies(groups, n, p)
	l.expose(visits, exposed, p)
	l.total(groups, exposed, p)
	for step := range steps {
		l.explain(changed, count, p)
		l.total(groups, count, p)
		for i, g := range groups {
			p.did(n - g.first)
			if step > 0 && !g.changed {
				continue // no change to explain: the first step said it all
			}
			g.drift += g.shared.renew(g.first, count[i][:n], exposed[i][:n])
			clear(count[i][g.first:])
		}
	}
	for _, g := range groups {
		g.inverse[0] = 0
	}
}

// expose adds to the tallies, for every visit, one on each day of its span, in the innermost group.
func (l *learner) expose(visits []span, exposed []tally, p *pieces) {
	for _, v := range visits {
		p.did(1)
		exposed[l.forest.among(v.folder, len(exposed)).index].add(float64(v.from), float64(v.to), 1)
	}
}

// explain adds to the tallies, for every visit that saw a change, one over the probability of a change, in
// the innermost group: times a day's hazard, that is what the day explains.
func (l *learner) explain(visits []span, count []tally, p *pieces) {
	for _, v := range visits {
		p.did(1)
		if !v.changed {
			continue
		}
		g := l.forest.among(v.folder, len(count))
		from, to := float64(v.from), float64(v.to)
		count[g.index].add(from, to, 1/probability(float64(v.own)+l.landed(g, from, to)))
	}
}

// total turns what was added in the innermost groups into the sums of each group, from its first day on.
func (l *learner) total(groups []*group, tallies []tally, p *pieces) {
	for i, g := range slices.Backward(groups) {
		p.did(len(tallies[i]) - g.first)
		if g.parent == nil || !l.options.Nested {
			continue
		}
		above := tallies[g.parent.index][g.first:]
		for d, v := range tallies[i][g.first:] {
			above[d] += v
		}
	}
	for i, g := range groups {
		p.did(len(tallies[i]) - g.first)
		tallies[i].total(g.first)
	}
}

// forgetOld drops visits that are old or too many, and keeps what they say by day.
func (l *learner) forgetOld(s *site, groups []*group, now float64, p *pieces) {
	old := max(0, len(s.visits)-s.memory())
	for old < len(s.visits) && float64(s.visits[old].to) < now-memoryDays {
		old++
	}
	if 8*old < len(s.visits) {
		return // until it is worth the trouble
	}
	count, exposed := l.found(groups, s.visits[:old], now, p)
	for i, g := range groups {
		g.shared.keep(count[i], exposed[i])
	}
	s.visits = append(s.visits[:0], s.visits[old:]...)
}

// found returns by group and day what visits say as things are seen now: shared changes, over the day's
// hazard, and visits.
func (l *learner) found(groups []*group, visits []span, now float64, p *pieces) (count, exposed []tally) {
	n := int(now) + 1
	extend(groups, n)
	for _, g := range groups {
		g.first = 0
	}
	count, exposed = l.tallies(groups, n, p)
	l.expose(visits, exposed, p)
	l.explain(visits, count, p)
	l.total(groups, exposed, p)
	l.total(groups, count, p)
	return count, exposed
}

// tallies returns tallies of n days for a site's groups, twice, empty from each group's first day on.
func (l *learner) tallies(groups []*group, n int, p *pieces) (count, exposed []tally) {
	for _, t := range []*[]tally{&l.scratch.count, &l.scratch.exposed} {
		for len(*t) < len(groups) {
			*t = append(*t, nil)
		}
		for i, g := range groups {
			p.did(n - g.first)
			if cap((*t)[i]) < n+2 {
				(*t)[i] = make(tally, n+2, 2*n+2)
			}
			(*t)[i] = (*t)[i][:n+2]
			clear((*t)[i][g.first:])
		}
	}
	return l.scratch.count[:len(groups)], l.scratch.exposed[:len(groups)]
}
