package refresh

import (
	"math"

	"freshet/change"
)

// A Source is a way in which a site says that a page of its has changed. Each is trusted by itself.
type Source uint8

// The sources of claims. They are kept on disk: new ones go to the end.
const (
	_ Source = iota
	Sitemap
	Feed
	Ping
)

// claimant is who claims: a source of a site.
type claimant struct {
	site   int32
	source Source
}

// leastPrecision is that below which a claim is only judged and adds nothing.
const leastPrecision = 0.25

// rememberedClaims is how many claims of a claimant its trust rests on, the last ones most.
const rememberedClaims = 200

// Claim tells that a source says that the page has changed at a time, in seconds, not ahead of now. What is claimed of
// a time before the last visit that told something is known already, and ignored; so is a claim while one that is
// trusted more is open. Until a visit tells what is true a claim of precision p adds -ln(1-p) to the changes that are
// expected of the copy: 1-p is what it leaves of the hope that the copy is fresh.
//
// The precision is that of the claimant's earlier claims: how many were followed by a visit that found a
// change, a half before there were any. A change that was likely without the claim counts for it only in
// part, so a site that calls everything new is soon believed nothing; claims of a precision below a quarter are
// still judged, and add nothing. Nor does a change that a claim explains
// speak for a high rate of the page's own: that is the rate of what nobody tells of.
//
// After a restart the visits are told again: before each, tell what had been claimed (see Claimed).
func (x *Index) Claim(id ID, source Source, at float64) {
	if x.learner.claim(id, source, at) {
		x.now = math.Max(x.now, at)
		x.ranking.Again(id, x.now)
	}
}

// Claimed returns whose claim is open about the page, 0 if nobody's is.
func (x *Index) Claimed(id ID) Source { return x.learner.must(id).source }

// claim opens a claim, and reports whether more is expected of the page for it.
func (l *learner) claim(id ID, source Source, at float64) bool {
	s := l.must(id)
	if !(at > s.seen) {
		return false
	}
	changes := float32(0)
	if p := l.trust[l.claimant(s, source)].Precision(); p >= leastPrecision {
		changes = float32(-math.Log1p(-p))
	}
	if s.source != 0 && changes <= l.claims[id] {
		return false
	}
	l.claims[id], s.source = changes, source
	return changes > 0
}

func (l *learner) claimant(s *state, source Source) claimant {
	return claimant{l.forest.folders[s.folder].site, source}
}

// judge closes a page's claim by what a visit saw, expected being the changes that were to be expected
// without the claim, and returns those that it added; 0 if there was none.
func (l *learner) judge(id ID, expected float64, changed bool) (claimed float64) {
	s := &l.pages[id]
	if s.source == 0 {
		return 0
	}
	who := l.claimant(s, s.source)
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
	claimed = l.claimed(id)
	s.source = 0
	delete(l.claims, id)
	return claimed
}

// urgent returns the changes that an open claim adds to the worth of a visit: none after a visit that failed,
// so that a page in trouble is not asked again and again.
func (l *learner) urgent(id ID) float64 {
	if l.tried(id) > l.pages[id].seen {
		return 0
	}
	return l.claimed(id)
}
