package refresh

import (
	"math"

	"freshet/change"
)

// A Source is a way in which a site tells of changes of its pages. Each source has its own trust.
type Source uint8

// The sources of claims. Their numbers are stored on disk: add new ones at the end.
const (
	_ Source = iota
	Sitemap
	Feed
	Ping
)

// kin is no word of the site: a page of the same small folder changed, or the page with the folder's name. Such a hint
// counts like a claim: it is trusted as far as earlier hints at the site were right. It is not stored, because repeated
// visits give it again. As far as hints are right, a visit to a page is also a look at its kin.
const kin Source = math.MaxUint8

// claimant is one source of one site.
type claimant struct {
	site   int32
	source Source
}

// leastPrecision is the least precision of a claim that counts. A less precise claim is judged, but adds nothing.
const leastPrecision = 0.25

// rememberedClaims is the number of claims on which a claimant's trust rests. Recent ones count most.
const rememberedClaims = 200

// Claim reports a claim of source that the page changed at a time, in seconds, not later than now. It is ignored if a
// later visit has shown whether the page changed, or if a more trusted claim is open. Until the next visit judges it,
// a claim of precision p adds -ln(1-p) to the expected changes: it multiplies the probability that the copy is fresh
// by 1-p.
//
// The precision is the share of the claimant's earlier claims after which a visit found a change; it starts at a
// half. A change that was likely without the claim counts only in part. So a site that calls every page new soon
// loses all trust. A claim with a precision below a quarter is judged, but adds nothing. A change that a claim
// explains does not raise the page's own rate: that is the rate of unannounced changes.
//
// After a restart, the caller repeats the stored visits, and before each visit its claim (see Claimed).
func (x *Index) Claim(id ID, source Source, at float64) {
	if x.learner.claim(id, source, at) {
		x.now = math.Max(x.now, at)
		x.ranking.Again(id, x.now)
	}
}

// Claimed returns the source of the site's open claim about the page, or 0 if there is none.
func (x *Index) Claimed(id ID) Source { return x.learner.must(id).source }

// claim opens a claim. It reports whether the claim adds to the page's expected changes.
func (l *learner) claim(id ID, source Source, at float64) bool {
	s := l.must(id)
	if !(at > s.seen) {
		return false
	}
	changes := l.changes(s, source)
	if s.source != 0 && changes <= l.changes(s, s.source) {
		return false
	}
	s.source = source
	return changes > 0
}

// tell tells the kin of a page of a visit at a time; last is the time of the visit before. If the page has changed,
// they may have changed too. If another of them told of a change after last, it was probably this one: they have been
// told, and visits since then have shown whether it reached them. tell calls f for those whose value may have changed.
func (l *learner) tell(id ID, last, at float64, changed bool, f func(ID)) {
	l.circles(id, func(circle *folder) {
		circle.looked = math.Max(circle.looked, at)
		news := changed && circle.told <= last
		if news {
			circle.told = at
		}
		trusted := l.trusted(&l.pages[id], kin) > 0 // at the site, so for all
		for _, other := range circle.kin {
			s := &l.pages[other]
			if other == id || !(at > s.seen) {
				continue
			}
			if news {
				s.marks.set(hinted, true)
			}
			if trusted {
				f(other)
			}
		}
	})
}

// circles calls f for the small folders that make pages kin of a page: its own, and the one with its name.
func (l *learner) circles(id ID, f func(*folder)) {
	if own := &l.forest.folders[l.pages[id].folder]; own.kin != nil {
		f(own)
	}
	if at, ok := l.forest.named[id]; ok && l.forest.folders[at].kin != nil {
		f(&l.forest.folders[at])
	}
}

// A kinship is what a page has in common with its kin.
type kinship struct {
	heard float64 // last visit to the page or one of them
	alike float64 // the share of the changes of one that another takes part in
	since float64 // from when the page's own changes count: such a visit shows that share of those before it
}

// kinship returns what a page visited at from has in common with its kin, as far as they were visited by a time.
func (l *learner) kinship(id ID, from, by float64) kinship {
	k := kinship{from, 0, from}
	l.circles(id, func(circle *folder) {
		k.heard = math.Max(k.heard, math.Min(circle.looked, by))
		k.alike = l.alike(&l.pages[id])
	})
	k.since += k.alike * (k.heard - from)
	return k
}

// own returns how long a page visited at from has lived on its own clock by a time, without the part that its kin show.
func (l *learner) own(id ID, from, by float64) float64 {
	return l.timetable(id).Own(l.kinship(id, from, by).since, by)
}

// alike returns the share of a site's hints that were right, or 0 if it is below leastPrecision. Its prior is
// Beta(0,2), where Precision has Beta(1,1): until some hints were right, a visit tells nothing about other pages.
func (l *learner) alike(s *state) float64 {
	t := l.trust[l.claimant(s, kin)]
	if p := t.Right / (t.Right + t.Wrong + 2); p >= leastPrecision {
		return p
	}
	return 0
}

// kinWeight returns the weight of a page's kin, without those that a hint already marks.
func (l *learner) kinWeight(id ID) (sum float64) {
	l.circles(id, func(circle *folder) {
		for _, other := range circle.kin {
			if s := &l.pages[other]; other != id && !s.marks.has(hinted) {
				sum += float64(s.weight)
			}
		}
	})
	return sum
}

// changes returns the expected changes that a claim of a source adds to a page's.
func (l *learner) changes(s *state, source Source) float64 {
	return -math.Log1p(-l.trusted(s, source))
}

// trusted returns the precision of a source's claims about a page, or 0 if it is too low to count.
func (l *learner) trusted(s *state, source Source) float64 {
	if p := l.trust[l.claimant(s, source)].Precision(); p >= leastPrecision {
		return p
	}
	return 0
}

// claimed returns the expected changes that the open claim and hint add to the page's.
func (l *learner) claimed(id ID) (sum float64) {
	s := &l.pages[id]
	if s.source != 0 {
		sum = l.changes(s, s.source)
	}
	if s.marks.has(hinted) {
		sum += l.changes(s, kin)
	}
	return sum
}

func (l *learner) claimant(s *state, source Source) claimant {
	return claimant{l.forest.folders[s.folder].site, source}
}

// judge closes a page's claim and hint with the result of a visit. expected is the number of changes expected without
// them. judge returns the changes that they had added.
func (l *learner) judge(id ID, expected float64, changed bool) (claimed float64) {
	s := &l.pages[id]
	claimed = l.claimed(id)
	if s.source != 0 {
		l.score(l.claimant(s, s.source), expected, changed)
	}
	if s.marks.has(hinted) {
		l.score(l.claimant(s, kin), expected, changed)
	}
	s.source = 0
	s.marks.set(hinted, false)
	return claimed
}

// score counts a claim as right or wrong.
func (l *learner) score(who claimant, expected float64, changed bool) {
	t := l.trust[who]
	right := 0.0
	if changed {
		p := t.Precision()
		right = p / (p + (1-p)*probability(expected))
	}
	if l.trust == nil {
		l.trust = map[claimant]change.Trust{}
	}
	const keep = 1 - 1.0/rememberedClaims
	l.trust[who] = change.Trust{Right: keep*t.Right + right, Wrong: keep*t.Wrong + 1 - right}
}

// urgent returns the changes that an open claim adds to the value of a visit. After a failed visit it returns 0, so
// that a failing page is not visited again and again.
func (l *learner) urgent(id ID) float64 {
	if l.tried(id) > l.pages[id].seen {
		return 0
	}
	return l.claimed(id)
}
