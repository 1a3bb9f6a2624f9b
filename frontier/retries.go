package frontier

import (
	"math"
	"time"

	"freshet/weburl"
)

// Retries configures when a page that could not be fetched is requested again.
type Retries struct {
	Most  int           // maximum number of retries after a failure
	First time.Duration // wait before the first retry; each further wait is twice as long, up to a day
}

// Wait returns how long to wait after a failure; failures is the number of failures in a row before it. Wait adds up to
// a quarter, by a hash of the page, so that pages that failed together come back at different times. ok is false if the
// page is not requested again.
func (r Retries) Wait(page weburl.Fingerprint, failures int) (wait time.Duration, ok bool) {
	if failures >= r.Most {
		return 0, false
	}
	ns := float64(r.First) * math.Exp2(float64(min(failures, 20)))
	ns *= 1 + float64(uint64(page)%1024)/4096
	return time.Duration(min(ns, float64(24*time.Hour))), true
}
