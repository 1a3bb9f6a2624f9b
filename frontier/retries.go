package frontier

import (
	"math"
	"time"

	"freshet/weburl"
)

// Retries say when a page is asked for again that could not be fetched.
type Retries struct {
	Most  int           // after a failure
	First time.Duration // the wait before the first; each further one is twice as long, up to a day
}

// Wait returns how long to wait after a failure before which there were so many in a row. Up to a quarter is added,
// which depends on the page, so that pages that failed together do not come back together. It is not ok if the page is
// not asked for again.
func (r Retries) Wait(page weburl.Fingerprint, failures int) (wait time.Duration, ok bool) {
	if failures >= r.Most {
		return 0, false
	}
	ns := float64(r.First) * math.Exp2(float64(min(failures, 20)))
	ns *= 1 + float64(uint64(page)%1024)/4096
	return time.Duration(min(ns, float64(24*time.Hour))), true
}
