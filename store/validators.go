package store

import (
	"math"
	"time"
)

// Validators is how far the validators of a site's pages (ETag, Last-Modified) can be trusted. A server that
// answers 304 for a changed page hides the change. So a page is sometimes requested without validators: an audit.
type Validators struct {
	Audits int64 `cbor:"1,keyasint,omitempty"` // audits that were answered in full
	Lies   int64 `cbor:"2,keyasint,omitempty"` // visits that found other content under the same validator
	Hidden uint8 `cbor:"3,keyasint,omitempty"` // changes in a row that only an audit found
	Until  int64 `cbor:"4,keyasint,omitempty"` // validators are not used before that time
}

const (
	// distrust is how long a site's validators are not used after they proved wrong.
	distrust = 90 * 24 * time.Hour
	// After this many hidden changes in a row the server is taken to answer 304 in every case. If one visit in
	// sixteen is an audit, an honest site has that many in a row once in 65,536 times.
	hidden = 4
)

// Trusted reports whether the validators may be used at a time.
func (v *Validators) Trusted(at int64) bool { return v.Until <= at }

// Lied reports whether a complete answer has other content than the page's copy under the same validator.
func (r *Fetched) Lied(page *Page) bool {
	same := page.ETag == r.ETag
	if page.ETag == "" && r.ETag == "" {
		same = page.LastModified != "" && page.LastModified == r.LastModified
	}
	return same && page.Versions > 0 && page.BodyDigest != r.BodyDigest && !sameText(page, r)
}

// judge updates the trust in a site's validators from a complete answer.
func (st *state) judge(row *pageRow, r *Fetched, changed bool) {
	if row.ETag == "" && row.LastModified == "" || !r.Unconditional && !changed {
		return
	}
	v := &st.site(row.id.p, row.URL.Site()).Validators
	if r.Unconditional {
		v.Audits++
	}
	switch {
	case !changed || !v.Trusted(r.At):
	case r.Unconditional:
		v.Hidden += min(1, math.MaxUint8-v.Hidden)
	default:
		v.Hidden = 0
	}
	lied := r.Lied(&row.Page)
	if lied {
		v.Lies++
	}
	if lied || v.Hidden >= hidden {
		v.Hidden, v.Until = 0, r.At+int64(distrust)
	}
}
