package refresh

import (
	"fmt"
	"math"
	"slices"

	"freshet/change"
)

// Learning says what a policy learns. The zero value learns each page's rate, with a prior from the pages of its
// site.
type Learning struct {
	Forget float64 // time constant, in seconds, by which old evidence about a page fades; 0: never
	Shared bool    // also learn the changes that pages share
	Folder int     // pages that make a folder a group; 0: only sites are groups
	Nested bool    // a page shares the changes of every group above it, not only the innermost
	Hours  bool    // also learn at which hour of the day a page changes
}

const (
	usualDays    = 730      // that the usual hazard of shared changes is averaged over
	memoryDays   = 250      // older visits no longer change beliefs about shared changes
	longestSpan  = 2000     // what a visit tells of earlier days is left out
	memoryVisits = 8        // nor do visits beyond this number per page
	memoryOfSite = 1024     // or this number per site; a large site has
	memoryOfMany = 4        // instead one visit for this number of pages
	steps        = 3        // of expectation and maximisation, each time it learns
	lookEvery    = 2 * day  // longest time between two learnings from a site's visits together
	freshVisits  = 256      // one new visit for this number of earlier ones brings the next learning forward
	doubt        = 2        // weight of the prior of shared changes, in visits to a group a day
	priorEvery   = 14 * day // longest time between two learnings of a site's priors, see renewable
	significant  = 0.02     // change of the expected shared changes after which pages are valued again
	// weight, in pages, of the prior of the group above in a group's prior, and of that of all sites in a site's
	abovePages  = 5
	unseenPages = 1e-3 // weight of the starting prior in that of all sites
)

// Memory is how long a visit teaches about other pages of its site, in seconds.
const Memory = memoryDays * day

// state is what a learner knows about one page, apart from its evidence. Every page has one, so it is small. Maps of
// the learner hold what only few pages have.
type state struct {
	seen   float64 // last visit that showed whether the page changed
	weight float32
	folder int32
	index  int32  // in its site's pages
	source Source // of the open claim; 0 if there is none
	marks  marks
}

// marks are flags of a page.
type marks uint8

const (
	there   marks = 1 << iota // the page is known
	out                       // it is out: Next does not return it
	asked                     // it is out for a look at its group
	shown                     // a visit has shown whether the page changed
	failed                    // visits since seen showed nothing: learner.failed has the last one
	watched                   // it has hours in learner.hours
	hinted                    // another page of its small folder has changed, see learner.tell
)

func (m marks) has(one marks) bool { return m&one != 0 }

func (m *marks) set(one marks, to bool) {
	if *m &^= one; to {
		*m |= one
	}
}

// A sum is a sum of posteriors, by rate.
type sum [change.Rates]float64

// A learner is the memory that policies use. It has a posterior over the rate of every page, with a prior from the
// pages of its group. If Learning.Shared is set it also has the shared changes of every group.
type learner struct {
	options Learning
	forest  forest
	pages   []state
	known   int                      // pages
	planned int                      // of them, at the last plan
	beliefs []change.Packed          // by ID: the evidence
	failed  map[ID]float64           // time of the last visit, for pages whose last visit showed nothing
	hours   map[ID]*change.Timetable // for pages that were visited twice within a day
	origin  float64                  // day 0, in seconds
	begun   bool
	due     Queue         // sites, by the time to learn from them
	overall change.Belief // of a page of any site
	trust   map[claimant]change.Trust
	sums    sum // of the posteriors of all pages, when last computed
	scratch struct{ count, exposed []tally }
	changed []span // scratch
}

func newLearner(o Learning) learner {
	return learner{options: o, forest: forest{least: o.Folder}, overall: startingPrior(),
		failed: map[ID]float64{}, hours: map[ID]*change.Timetable{}}
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
	l.known++
	home.pages = append(home.pages, id)
	l.forest.settle(folder, id, p)
	l.forest.weigh(folder, float64(s.weight))
	if site := ID(l.forest.folders[folder].site); !l.due.Has(site) {
		home.next, home.renew = fresh+lookEvery, fresh+priorEvery
		l.due.Set(site, home.next)
	}
}

func (l *learner) remove(id ID) {
	s := l.must(id)
	l.forest.weigh(s.folder, -float64(s.weight))
	l.forest.leave(s.folder, id)
	home := l.site(s)
	last := home.pages[len(home.pages)-1]
	home.pages[s.index] = last
	l.pages[last].index = s.index
	home.pages = home.pages[:len(home.pages)-1]
	s.marks, s.source = 0, 0
	l.known--
	delete(l.failed, id)
	delete(l.hours, id)
}

func (l *learner) weigh(id ID, weight float64) {
	s := l.must(id)
	l.forest.weigh(s.folder, float64(float32(weight))-float64(s.weight))
	s.weight = float32(weight)
}

// doubled reports whether the number of pages has doubled since the last plan. Then it is time for another.
func (l *learner) doubled() bool { return l.known >= 2*l.planned }

func (l *learner) must(id ID) *state {
	if int(id) >= len(l.pages) || !l.pages[id].marks.has(there) {
		panic(fmt.Sprintf("refresh: no page %d", id))
	}
	return &l.pages[id]
}

// tried returns the time of the last visit, even if it showed nothing.
func (l *learner) tried(id ID) float64 {
	if s := &l.pages[id]; !s.marks.has(failed) {
		return s.seen
	}
	return l.failed[id]
}

// timetable returns the belief about the page's hours, or nil if visits are too rare.
func (l *learner) timetable(id ID) *change.Timetable {
	if !l.pages[id].marks.has(watched) {
		return nil
	}
	return l.hours[id]
}

// posterior returns the belief about the page's rate.
func (l *learner) posterior(id ID) change.Belief {
	evidence := l.beliefs[id].Evidence()
	return evidence.Posterior(&l.forest.group(l.pages[id].folder).prior)
}

func (l *learner) site(s *state) *site { return l.forest.sites[l.forest.folders[s.folder].site] }

// days returns the days from the origin to a time, or 0 before the origin.
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
	if shares || s.source != 0 || s.marks.has(hinted) {
		own := -math.Log(belief.Unchanged(l.own(id, s.seen, v.At)))
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
	// other pages wait for the finding of a look
	if changed && sentinel || shares && home.fresh > home.enough() {
		home.next = math.Min(home.next, v.At)
	}
	if home.next <= v.At || home.renewable() || l.news(g) {
		l.due.Set(ID(l.forest.folders[s.folder].site), v.At)
	}
}

// seen records a visit that showed whether the page changed. If a later visit failed, that one stays the last.
func (l *learner) seen(id ID, at float64) {
	s := &l.pages[id]
	if s.marks.has(failed) && l.failed[id] <= at {
		delete(l.failed, id)
		s.marks.set(failed, false)
	}
	s.seen = at
	s.marks.set(shown, true)
}

// see adds a visit to the shared changes of its group and of those above, at once: if something has changed in a
// folder, visits to the other pages are worth more now, and not only after the next learning.
func (l *learner) see(g *group, from, to, expected float64, changed bool) {
	explained := 0.0
	if changed {
		explained = 1 / probability(expected)
	}
	l.chain(g, func(g *group) { g.drift += g.shared.see(from, to, explained) })
}

// news reports whether the shared changes of a group, or of one above it, have changed so much that its pages must be
// valued again.
func (l *learner) news(g *group) (news bool) {
	l.chain(g, func(g *group) { news = news || g.drift > significant })
	return news
}

// seeHours learns from a visit at which hour the page changes. It starts when the page is visited twice within a day.
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

// steady returns for how long the value of a visit to the page rises no faster than a power of time.
func (l *learner) steady(id ID) float64 {
	if l.timetable(id).Punctual() {
		return day / 96
	}
	return math.Inf(1)
}

// shares reports whether a group has enough pages to learn shared changes. A folder that is a group always has; a
// site may have too few.
func (l *learner) shares(g *group) bool {
	return l.options.Shared && int(l.forest.folders[g.folder].pages) >= l.options.Folder
}

// shared returns the expected number of shared changes of a page of the group between two days: those seen on other
// pages, times the share of them that reaches a page.
func (l *learner) shared(g *group, from, to float64) (sum float64) {
	l.chain(g, func(g *group) { sum += g.reach.mean * g.shared.between(from, to) })
	return sum
}

// landed returns the expected number of shared changes of the group between two days, from all known visits.
func (l *learner) landed(g *group, from, to float64) (sum float64) {
	l.chain(g, func(g *group) { sum += g.shared.between(from, to) })
	return sum
}

// judgeReach learns from a visit which share of the shared changes reaches a page, for a group and those above it.
// expected is the number of all expected changes of the page: its own, claimed and shared.
func (l *learner) judgeReach(g *group, from, to, expected float64, changed bool) {
	l.chain(g, func(g *group) {
		landed := g.shared.between(from, to)
		g.reach.see(expected-g.reach.mean*landed, landed, changed)
	})
}

// sentinel returns the page for the next look at the group. The pages take turns. O(pages of the site) at worst; on
// average, the pages of the site divided by those of the group.
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

// usual returns the usual rate per second of shared changes that reach a page of the group.
func (l *learner) usual(g *group) float64 {
	usual := 0.0
	l.chain(g, func(g *group) { usual += g.reach.mean * g.shared.mean })
	return usual / day
}

// inverses returns, for each rate of the grid, one over the usual hazard per second, which includes shared changes.
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

// learn learns from the sites that are due, and calls revalue for pages whose value may have changed. Between pieces,
// pages may be added, removed and visited. Such visits to a site, and its new groups, wait for the next learning.
func (l *learner) learn(now float64, p *pieces, revalue func(ID)) {
	for l.due.Len() > 0 {
		id, at := l.due.First()
		if at > now {
			return
		}
		s := l.forest.sites[id]
		groups := slices.Clip(s.groups)
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

// renewable reports whether a site has enough new visits to learn its priors again: a fifth of all its visits, and
// one for 64 pages. For a new site each visit is enough. If it learned from the first ones together, the result would
// depend on their number. A restart, which repeats only the last visits of a page, would then come to other beliefs.
func (s *site) renewable() bool {
	return s.seen-s.learnt >= max(1, s.learnt/4, len(s.pages)/64)
}

// revalue calls f for the pages of a site with changed beliefs: for all, or for those of groups with news.
func (l *learner) revalue(s *site, groups []*group, all bool, p *pieces, f func(ID)) {
	news := all
	for _, g := range groups {
		// A group comes after those above it.
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

// renewPriors learns the priors of a site's groups by expectation and maximisation. A single step would stay near the
// starting prior: with a visit or two per page, one step cannot tell the rates apart. A site with one or two pages
// takes as many steps as it has pages. More steps would count each page's own visits twice.
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
	// The starting prior keeps a little weight, so that each rate stays possible. Without it, the sum for a rate that
	// no page has would be a rounding error of either sign.
	unseen := startingPrior()
	for k := range l.overall {
		l.overall[k] = float32((math.Max(0, l.sums[k]) + unseenPages*float64(unseen[k])) / (total + unseenPages))
	}
}

// stepPriors sets each group's prior to the smoothed mean of its pages' posteriors and of some imaginary pages with
// the prior of the group above. For a site these have the prior of all sites. It leaves out pages without a visit:
// they repeat the prior, so a wrong prior would last until most pages are visited. Afterwards sums holds the sums of
// the posteriors of each group's pages, including those of groups below.
func (l *learner) stepPriors(s *site, groups []*group, sums []sum, p *pieces) {
	clear(sums)
	for i := 0; i < len(s.pages); i++ {
		if page := &l.pages[s.pages[i]]; page.marks.has(shown) {
			g := l.forest.among(page.folder, len(groups))
			evidence := l.beliefs[s.pages[i]].Evidence()
			posterior := evidence.Posterior(&g.prior)
			for k, v := range posterior {
				sums[g.index][k] += float64(v)
			}
		}
		p.did(1) // afterwards there may be fewer pages
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

// smoothed moves a quarter of each rate's sum to either neighbour. Without it the steps converge to a few separate
// rates, and pages that seem to have the slowest of them are given up (Silverman et al. 1990).
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

// fit learns the shared changes of a site's groups from its visits. Expectation: how much of an observed change each
// day of its span explains. Maximisation: a day's hazard is the number of changes that it explains, divided by the
// number of visits that cover it. The visits of a partition that comes back are replayed to a site that knows later
// ones, so the days reach to the last of all.
func (l *learner) fit(s *site, groups []*group, now float64, p *pieces) {
	for _, v := range s.visits {
		now = math.Max(now, float64(v.to))
	}
	n := int(now) + 1
	extend(groups, n)
	forgot := l.forgetOld(s, groups, now, p)
	visits, changed := s.visits, l.changed[:0]
	l.cover(groups, visits, n, p)
	for _, v := range visits {
		if v.changed {
			changed = append(changed, v)
		}
	}
	l.changed = changed
	count, exposed := l.tallies(groups, n, p)
	l.expose(visits, exposed, p)
	l.total(groups, exposed, p)
	for step := range steps {
		l.explain(changed, count, p)
		l.total(groups, count, p)
		for i, g := range groups {
			p.did(n - g.first)
			if step > 0 && !g.changed {
				continue // no change to explain: more steps change nothing
			}
			from := g.first
			if forgot {
				from = 0
			}
			g.drift += g.shared.renew(from, count[i], exposed[i])
			clear(count[i].sums)
		}
	}
	for _, g := range groups {
		g.inverse[0] = 0
	}
}

// cover has the tallies of groups begin with the first day, of n, that visits tell about, and notes whether one of them
// saw a change. Days more than longestSpan ago are left out: they would take memory, and tell next to nothing of today.
func (l *learner) cover(groups []*group, visits []span, n int, p *pieces) {
	for _, v := range visits {
		p.did(1)
		g := l.forest.among(v.folder, len(groups))
		g.first = min(g.first, max(int(v.from), n-longestSpan))
		g.changed = g.changed || v.changed
	}
	for _, g := range slices.Backward(groups) { // those below before those above
		if up := g.parent; l.options.Nested && up != nil {
			up.first, up.changed = min(up.first, g.first), up.changed || g.changed
		}
	}
}

// expose adds, for every visit, one to each day of its span in the tally of the innermost group.
func (l *learner) expose(visits []span, exposed []tally, p *pieces) {
	for _, v := range visits {
		p.did(1)
		exposed[l.forest.among(v.folder, len(exposed)).index].add(float64(v.from), float64(v.to), 1)
	}
}

// explain adds, for every visit that saw a change, one over the probability of a change to each day of its span in
// the tally of the innermost group. Multiplied by a day's hazard this is the part of the change that the day
// explains.
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

// total turns the tallies of the innermost groups into the sums of each group, from its first day on.
func (l *learner) total(groups []*group, tallies []tally, p *pieces) {
	for i, g := range slices.Backward(groups) {
		p.did(len(tallies[i].sums))
		if g.parent != nil && l.options.Nested {
			tallies[g.parent.index].plus(tallies[i])
		}
	}
	for _, t := range tallies {
		p.did(len(t.sums))
		t.total()
	}
}

// forgetOld drops visits that are too old or too many, and keeps their sums by day. It reports whether there were any.
func (l *learner) forgetOld(s *site, groups []*group, now float64, p *pieces) bool {
	old := max(0, len(s.visits)-s.memory())
	for old < len(s.visits) && float64(s.visits[old].to) < now-memoryDays {
		old++
	}
	if 8*old < len(s.visits) {
		return false // too few to be worth the cost
	}
	count, exposed := l.found(groups, s.visits[:old], now, p)
	for i, g := range groups {
		g.shared.keep(count[i], exposed[i])
	}
	s.visits = append(s.visits[:0], s.visits[old:]...)
	return true
}

// found returns, by group and day, the shared changes that visits found, divided by the day's hazard, and the number
// of visits. It uses the present beliefs.
func (l *learner) found(groups []*group, visits []span, now float64, p *pieces) (count, exposed []tally) {
	n := int(now) + 1
	l.cover(groups, visits, n, p)
	count, exposed = l.tallies(groups, n, p)
	l.expose(visits, exposed, p)
	l.explain(visits, count, p)
	l.total(groups, exposed, p)
	l.total(groups, count, p)
	return count, exposed
}

// tallies returns two empty tallies for each of a site's groups, from its first day to day n.
func (l *learner) tallies(groups []*group, n int, p *pieces) (count, exposed []tally) {
	for _, t := range []*[]tally{&l.scratch.count, &l.scratch.exposed} {
		for len(*t) < len(groups) {
			*t = append(*t, tally{})
		}
		for i, g := range groups {
			p.did(n - g.first)
			days := n - g.first + 2
			sums := (*t)[i].sums
			if cap(sums) < days {
				sums = make([]float64, days, days+days/4)
			}
			(*t)[i] = tally{g.first, sums[:days]}
			clear(sums[:days])
		}
	}
	return l.scratch.count[:len(groups)], l.scratch.exposed[:len(groups)]
}
