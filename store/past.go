package store

import (
	"freshet/store/internal/format"
	"freshet/weburl"
)

// pruned deletes a page's old versions and the captures of old visits. The last version stays. Every visit stays
// too, without its capture.
func (st *state) pruned(p weburl.Partition, r *Pruned) {
	row := st.page(p, r.Fingerprint)
	if !row.exists || row.State == StatePurged {
		return
	}
	last := row.Pruned
	if row.Versions > 0 {
		last = max(last, min(r.Versions, row.Versions-1))
	}
	if last > row.Pruned {
		from := st.keys.AppendOfPage(nil, p, format.KeyVersion, row.id.fp, row.Pruned+1)
		to := st.keys.AppendOfPage(nil, p, format.KeyVersion, row.id.fp, last+1)
		st.deleteSpan(from, to)
		st.change(row)
		st.total(p).Pruned += int64(last - row.Pruned)
		row.Pruned = last
	}
	for number := row.FirstVisit(); number <= row.Visits && number != 0; number++ {
		var visit Visit
		st.key = st.keys.AppendOfPage(st.key[:0], p, format.KeyVisit, row.id.fp, number)
		if !st.load(&visit) || visit.Capture.IsZero() || number > r.Visits && visit.Version > last {
			continue
		}
		visit.Capture = Pointer{}
		st.set(&visit)
	}
}

// FirstVisit returns the number of the first visit that is kept.
func (p *Page) FirstVisit() uint32 {
	if p.Visits > KeptVisits {
		return p.Visits - KeptVisits + 1
	}
	return 1
}

// Ended reports whether a change means that the page is no longer at its URL.
func (k ChangeKind) Ended() bool {
	switch k {
	case ChangeMoved, ChangeGone, ChangeWithdrawn, ChangePurged:
		return true
	}
	return false
}

// forgotten deletes change entries of pages that have ended.
func (st *state) forgotten(p weburl.Partition, r *Forgotten) {
	total := st.total(p)
	for _, n := range r.Changes {
		var change Change
		st.key = st.keys.AppendNumber(st.key[:0], p, format.KeyChange, n)
		if !st.load(&change) || !change.Kind.Ended() {
			continue
		}
		row := st.page(p, change.Fingerprint)
		if !row.exists || row.LastChange != n {
			continue
		}
		st.change(row)
		row.LastChange = 0
		st.key = st.keys.AppendNumber(st.key[:0], p, format.KeyChange, n)
		st.delete()
		total.Forgotten++
		total.Horizon = max(total.Horizon, n)
	}
}

// relocated makes rows point to the copies of their captures.
func (st *state) relocated(p weburl.Partition, r *Relocated) {
	move := func(at *Pointer, to *Relocation) bool {
		if at.File != r.File || at.Offset != to.Offset {
			return false
		}
		at.File, at.Offset = to.File, to.NewOffset
		return true
	}
	for i := range r.Captures {
		switch to := &r.Captures[i]; {
		case to.Site != "":
			if row := st.peekSite(p, to.Site); row.exists {
				move(&st.site(p, to.Site).Robots.Capture, to)
			}
		case to.Version != 0:
			var version Version
			st.key = st.keys.AppendOfPage(st.key[:0], p, format.KeyVersion, to.Fingerprint, to.Version)
			if st.load(&version) && move(&version.Capture, to) {
				st.set(&version)
			}
		default:
			var visit Visit
			st.key = st.keys.AppendOfPage(st.key[:0], p, format.KeyVisit, to.Fingerprint, to.Visit)
			if st.load(&visit) && move(&visit.Capture, to) {
				st.set(&visit)
			}
		}
	}
}
