package castillo

import (
	"fmt"
	"strings"

	"freshet/lab"
)

// claims checks the paper's claims on the web, as far as the crawls allow, and compares our orderings.
func (b *bench) claims(p *parameters) {
	for _, r := range p.connections {
		b.claimAbove("length", "depth", r)
		for _, l := range b.lines {
			if l.connections == r && r == 1 && (strings.HasPrefix(l.order, "batch") || strings.HasPrefix(l.order, "partial")) {
				b.claimAbove("length", l.order, r)
			}
		}
		b.claimOptimal(r)
		b.claimOurs("cash-sum", r, p.delay.Seconds())
	}
}

// claim adds a claim about crawls with r fetchers.
func (b *bench) claim(r int, claim string, holds bool, evidence string, args ...any) {
	b.out.Claim(fmt.Sprintf("%s, r = %d: %s", b.web, r, claim), holds, evidence, args...)
}

// claimAbove reports whether one ordering's curve lies above another's.
func (b *bench) claimAbove(one, other string, r int) {
	x, ok := b.get(one, r)
	y, too := b.get(other, r)
	if !ok || !too {
		return
	}
	b.claim(r, one+" brings more PageRank than "+other, x.mean > y.mean,
		"mean height %.3f against %.3f; at 10 %% of the pages %.3f against %.3f, at half %.3f against %.3f",
		x.mean, y.mean, x.shares[10], y.shares[10], x.shares[50], y.shares[50])
}

// claimOptimal reports whether the oracle is best at first, and overtaken later.
func (b *bench) claimOptimal(r int) {
	best, ok := b.get("optimal", r)
	if !ok {
		return
	}
	early, later, at, gap := 0, "", 0, 0.0
	for _, l := range b.lines {
		if l.connections != r || l.order == "optimal" {
			continue
		}
		if l.shares[5] > best.shares[5] {
			early++
		}
		for percent := 20; percent < 100; percent++ {
			if d := l.shares[percent] - best.shares[percent]; d > gap {
				later, at, gap = l.order, percent, d
			}
		}
	}
	b.claim(r, "optimal is best at first (5 % of the pages)", early == 0, "%d orderings are above its %.3f", early, best.shares[5])
	evidence := "none is above it from 20 % of the pages on"
	if later != "" {
		evidence = fmt.Sprintf("%s by %.4f at %d %% of the pages", later, gap, at)
	}
	b.claim(r, "optimal is overtaken later", gap > 0, "%s", evidence)
	if l, ok := b.get("length", r); ok {
		b.claim(r, "optimal takes longer than length to half of the pages", best.half > l.half, "%.0f s against %.0f s", best.half, l.half)
	}
}

// claimOurs checks the conditions for one of our orderings to be the default.
func (b *bench) claimOurs(name string, r int, delay float64) {
	ours, ok := b.get(name, r)
	length, too := b.get("length", r)
	if !ok || !too {
		return
	}
	b.claim(r, "ours: "+name+" brings more PageRank than length by 0.03", ours.mean >= length.mean+0.03,
		"mean height %.4f against %.4f", ours.mean, length.mean)
	b.claim(r, "ours: "+name+" takes no longer than one w more", ours.duration <= length.duration+delay,
		"%.0f s against %.0f s; the bound is %.0f s", ours.duration, length.duration, max(b.bounds.site, b.bounds.size))
}

// reference compares the crawls with those of an earlier study of the same model. That study had another generator
// with the same distributions, and drew other speeds for the real sites. So the third digit differs, and a difference
// of 0.02 is allowed. It numbered the real sites by name, and its cash was plain.
func (b *bench) reference(web string) {
	for _, ref := range references(web) {
		l, ok := b.get(ref.order, ref.connections)
		if !ok {
			continue
		}
		name := fmt.Sprintf("%s, %s, r = %d: ", b.web, ref.order, ref.connections)
		for i, percent := range referencePercents {
			if ref.shares[i] > 0 {
				b.out.Compare(lab.Comparison{What: fmt.Sprintf("%sPageRank at %d %%", name, percent), Source: referenceSource,
					Reference: new(ref.shares[i]), Measured: l.shares[percent], Tolerance: 0.02})
			}
		}
		b.out.Compare(lab.Comparison{What: name + "mean height", Source: referenceSource, Reference: new(ref.mean), Measured: l.mean, Tolerance: 0.02})
	}
}
