package frontier

import (
	"math"
	"time"

	"freshet/weburl"
)

// Retries configures when a page that could not be fetched is requested again.
type Retries struct {
	Most    int           // maximum number of retries after a failure
	First   time.Duration // wait before the first retry; each further wait is twice as long, up to a day
	Lasting bool          // after Most retries a page is tried again after a day, two, four, and so on up to 32
}

// Wait returns how long to wait after a failure; failures is the number of failures in a row before it. Wait adds up to
// a quarter, by a hash of the page, so that pages that failed together come back at different times. ok is false if the
// page is not requested again.
func (r Retries) Wait(page weburl.Fingerprint, failures int) (wait time.Duration, ok bool) {
	const day = 24 * time.Hour
	spread := 1 + float64(uint64(page)%1024)/4096
	switch later := failures - r.Most; {
	case later < 0:
		ns := float64(r.First) * math.Exp2(float64(min(failures, 20)))
		return time.Duration(min(ns*spread, float64(day))), true
	case r.Lasting:
		return time.Duration(float64(day<<min(later, 5)) * spread), true
	}
	return 0, false
}
