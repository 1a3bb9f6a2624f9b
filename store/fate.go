package store

import (
	"freshet/store/internal/format"
	"freshet/weburl"
)

// KeptVisits is how many visits of a page are kept individually.
const KeptVisits = 64

// fetched applies a visit: the page leaves its queue, its fate is decided, and it may be queued
// again.
func (st *state) fetched(p weburl.Partition, n uint64, r *Fetched) {
	if r.Gate != nil {
		st.gate(p, r.URL.Host(), r.Gate)
	}
	st.countVisit(p, r)
	row := st.resolve(p, r.URL)
	if st.takenDown(row, r.URL.Site()) {
		return
	}
	if !row.exists {
		st.create(row, Page{URL: r.URL, FirstSeen: r.At})
	}
	st.change(row)
	if !row.Visited {
		row.Visited = true
		st.site(p, r.URL.Site()).Fetched++
	}
	st.decide(row, n, r)
	st.requeue(row, n, r)
}

func (st *state) countVisit(p weburl.Partition, r *Fetched) {
	total := st.total(p)
	total.Visits++
	total.Outcomes[r.Outcome]++
	total.BodyBytes += r.Size
	total.WireBytes += r.WireBytes
	if r.Truncated != "" {
		total.Truncated++
	}
}

// decide sets the state of a page after a visit. A failure, a server error, a cut body and a soft error are missing
// data: they change no digest, validator or count of earlier answers.
func (st *state) decide(row *pageRow, n uint64, r *Fetched) {
	v := Visit{
		At: r.At, TookNs: r.TotalNs, Outcome: r.Outcome, Status: r.Status, Reason: r.Reason,
		WireBytes: r.WireBytes, Truncated: r.Truncated, Capture: r.Capture, Revisit: r.Revisit,
		LastModified: r.LastModified, Claimed: r.Claimed,
	}
	row.LastFetched, row.Outcome, row.Status, row.Reason = r.At, r.Outcome, r.Status, r.Reason
	row.SoftError, row.Truncated, row.Limit = r.SoftError, r.Truncated, r.Limit
	if r.Outcome == OutcomeFailed || r.Outcome == OutcomeServerError {
		row.FailedInRow += min(1, ^row.FailedInRow)
	} else {
		row.FailedInRow = 0
	}
	if r.Outcome != OutcomeFailed { // there was an answer, and it was processed
		row.Strikes = 0
	}
	switch {
	case r.Outcome == OutcomeStored && r.Truncated == "" && !r.SoftError:
		st.complete(row, n, r, &v)
	case r.Outcome == OutcomeNotModified && row.Versions > 0:
		v.Complete = true
		st.unchanged(row, n, r)
	case r.Outcome == OutcomeRedirected:
		st.redirected(row, n, r)
	case r.Outcome == OutcomeMissing:
		st.missing(row, n, r.At)
	case row.Versions == 0:
		st.neverGood(row, r.Outcome)
	}
	v.Version = row.Versions
	st.addVisit(row, &v)
}

// complete applies a whole answer: a version if anything differs, a change if the content does.
func (st *state) complete(row *pageRow, n uint64, r *Fetched, v *Visit) {
	v.Complete = true
	first := row.Versions == 0
	sameBytes := !first && row.BodyDigest == r.BodyDigest && !r.Reread
	v.Changed = first || !sameBytes && !sameText(&row.Page, r)
	listed := sameBytes && row.Size == 0 && r.Size > 0 // until now only a list told of it
	regained := (row.NoArchive || listed) && !r.NoArchive && !r.Capture.IsZero() && !r.Revisit
	v.Noise = !v.Changed && (!sameBytes || regained)
	withdrawn := !first && r.NoArchive && !row.NoArchive
	if !first {
		st.judge(row, r, v.Changed)
	}

	if v.Changed || v.Noise {
		st.addVersion(row, r, v.Noise)
	}
	if !sameBytes || listed || row.NoFollow != r.NoFollow {
		st.setLinks(row, r)
	}
	if v.Changed {
		row.LastChanged = r.At
	}
	row.ContentType, row.Size, row.Canonical = r.ContentType, r.Size, r.Canonical
	row.BodyDigest, row.TextDigest, row.TextVersion = r.BodyDigest, r.TextDigest, r.TextVersion
	row.ETag, row.LastModified = r.ETag, r.LastModified
	row.NoIndex, row.NoArchive, row.NoFollow = r.NoIndex, r.NoArchive, r.NoFollow
	told := row.signals(r.SiteSignals, r.PageSignals) || listed

	switch {
	case withdrawn:
		st.withhold(row, n, r.At)
	case row.State == StateWithdrawn && r.NoArchive:
		st.steady(row)
	case first:
		st.live(row)
		st.log(row, n, ChangeNew, r.At)
	case v.Changed:
		st.live(row)
		st.log(row, n, ChangeChanged, r.At)
	default:
		st.back(row, n, r.At, told)
	}
}

// unchanged applies an answer 304. What its header forbids beyond the last complete answer holds at once, and the next
// visit goes without validators. What it allows waits for a complete answer, because a 304 may lack fields. So does
// another character set.
func (st *state) unchanged(row *pageRow, n uint64, r *Fetched) {
	signals, withdrawn := row.PageSignals, r.NoArchive && !row.NoArchive
	if r.PageSignals != "" {
		signals = r.PageSignals
	}
	if withdrawn || signals != row.PageSignals || r.Reread {
		row.ETag, row.LastModified = "", ""
	}
	row.NoIndex, row.NoArchive = row.NoIndex || r.NoIndex, row.NoArchive || r.NoArchive
	signalled := row.signals(r.SiteSignals, signals)
	if withdrawn {
		st.withhold(row, n, r.At)
	} else {
		st.back(row, n, r.At, signalled)
	}
}

// withhold withdraws a page whose owner now forbids copies.
func (st *state) withhold(row *pageRow, n uint64, at int64) {
	st.steady(row)
	st.setState(row, StateWithdrawn)
	row.Reason = "noarchive"
	st.log(row, n, ChangeWithdrawn, at)
}

// signals stores what is said about the use of the page, and reports whether it changed.
func (row *pageRow) signals(site, page string) (other bool) {
	other = row.SiteSignals != site || row.PageSignals != page
	row.SiteSignals, row.PageSignals = site, page
	return other
}

// sameText reports whether an answer has the page's visible text. It compares text digests if both were made by the
// same rules. After a change of the rules the bytes decide, once a page.
func sameText(page *Page, r *Fetched) bool {
	return page.TextDigest == r.TextDigest && page.TextDigest != TextDigest{} && page.TextVersion == r.TextVersion
}

// steady clears the signs that the page may have ended.
func (st *state) steady(row *pageRow) {
	row.GoneSeen, row.Redirects = 0, 0
	row.Redirect, row.MovedTo = weburl.URL{}, weburl.URL{}
}

func (st *state) live(row *pageRow) {
	st.steady(row)
	st.setState(row, StateLive)
}

// back handles an answer that equals the page's last version. It is a change only if the page had gone, or if there is
// something else to tell: a body for the first time, or other signals about its use. A page that was withdrawn for a
// reason other than noarchive is live again.
func (st *state) back(row *pageRow, n uint64, at int64, told bool) {
	was := row.State
	if row.withheld() {
		st.steady(row)
		return
	}
	st.live(row)
	if was != StateLive || told {
		st.log(row, n, ChangeChanged, at)
	}
}

// withheld reports whether the page's owner withdrew it. Only an answer that allows copies again ends that; a
// removal or a move of the page does not.
func (row *pageRow) withheld() bool { return row.State == StateWithdrawn && row.NoArchive }

func (st *state) redirected(row *pageRow, n uint64, r *Fetched) {
	row.GoneSeen = 0
	switch {
	case !r.Permanent:
		row.Redirects = 0
	case row.Redirect == r.Redirect && row.Redirects > 0:
		row.Redirects = 2
	default:
		row.Redirects = 1
	}
	row.Redirect = r.Redirect
	switch {
	case row.Versions == 0:
		st.setState(row, StateRedirect)
	case row.withheld():
	case row.Redirects == 2 && (row.State != StateMoved || row.MovedTo != r.Redirect):
		st.setState(row, StateMoved)
		row.MovedTo = r.Redirect
		st.log(row, n, ChangeMoved, r.At)
	}
}

func (st *state) missing(row *pageRow, n uint64, at int64) {
	row.Redirects, row.Redirect = 0, weburl.URL{}
	row.GoneSeen = min(2, row.GoneSeen+1)
	switch {
	case row.Versions == 0:
		st.setState(row, StateMissing)
	case row.withheld():
	case row.GoneSeen == 2 && row.State != StateGone:
		st.setState(row, StateGone)
		row.MovedTo = weburl.URL{}
		st.log(row, n, ChangeGone, at)
	}
}

// neverGood handles an answer without content for a page that has no version. A state from an earlier answer stays.
func (st *state) neverGood(row *pageRow, o Outcome) {
	switch row.State {
	case StatePending, StateError, StateUnreached, StateDenied:
	default:
		return
	}
	switch o {
	case OutcomeFailed:
		st.setState(row, StateUnreached)
	case OutcomeDenied:
		st.setState(row, StateDenied)
	default:
		st.setState(row, StateError)
	}
}

func (st *state) addVersion(row *pageRow, r *Fetched, noise bool) {
	row.Versions++
	total := st.total(row.id.p)
	total.Versions++
	if noise {
		total.Noise++
	}
	v := Version{
		Number: row.Versions, At: r.At, Noise: noise, Status: r.Status, ContentType: r.ContentType,
		Charset: r.Charset, Size: r.Size, BodyDigest: r.BodyDigest, TextDigest: r.TextDigest,
		SiteSignals: r.SiteSignals, PageSignals: r.PageSignals,
	}
	if !r.NoArchive && !r.Revisit {
		v.Capture = r.Capture
	}
	st.key = st.keys.AppendOfPage(st.key[:0], row.id.p, format.KeyVersion, row.id.fp, row.Versions)
	st.set(&v)
}

func (st *state) setLinks(row *pageRow, r *Fetched) {
	st.key = st.keys.AppendPage(st.key[:0], row.id.p, format.KeyLinks, row.id.fp)
	if len(r.Links) > 0 {
		st.setRaw(r.Links)
	} else {
		st.delete()
	}
}

// addVisit stores a visit, and folds the oldest one if there are too many.
func (st *state) addVisit(row *pageRow, v *Visit) {
	row.Visits++
	st.key = st.keys.AppendOfPage(st.key[:0], row.id.p, format.KeyVisit, row.id.fp, row.Visits)
	st.set(v)
	if row.Visits <= KeptVisits {
		return
	}
	var old Visit
	st.key = st.keys.AppendOfPage(st.key[:0], row.id.p, format.KeyVisit, row.id.fp, row.Visits-KeptVisits)
	if st.load(&old) {
		row.Folded.add(&old)
		st.delete()
	}
}

// add folds the visit that follows those already in f.
func (f *Folded) add(v *Visit) {
	f.Visits++
	if !v.Complete {
		return
	}
	if f.Complete == 0 {
		f.First = v.At
	} else {
		f.ElapsedNs += v.At - f.Last
		if v.Changed {
			f.ChangedNs += v.At - f.Last
		}
	}
	f.Complete++
	if v.Changed {
		f.Changes++
	}
	f.Last = v.At
}
