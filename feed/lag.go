package feed

import (
	"time"

	"freshet/store"
	"freshet/weburl"
)

// A Lag tells how far a reader of the change log is behind it.
type Lag struct {
	Changes int       // that the reader has not taken, up to mostCounted
	More    bool      // there are more than that
	Oldest  time.Time // time of the oldest of them; zero: there is none
}

// mostCounted bounds the entries of the log that are read for the Lag of one reader, apart from one of each partition.
const mostCounted = 100

// LagOf returns how far a reader is behind that has taken everything up to a cursor. With a site only its changes
// count.
func LagOf(s *store.Store, taken Cursor, site weburl.Site) (lag Lag, err error) {
	for p, at := range taken {
		p := weburl.Partition(p)
		if site != "" && p != s.Home(site) {
			continue
		}
		total, err := s.Counters(p)
		if err != nil || total.Records <= at {
			if err != nil {
				return lag, err
			}
			continue
		}
		room := max(1, mostCounted-lag.Changes)
		entries, err := s.Changes(p, at, room+1)
		if err != nil {
			return lag, err
		}
		lag.More = lag.More || len(entries) > room || lag.Changes >= mostCounted && len(entries) > 0
		for _, e := range entries[:min(len(entries), room)] {
			if site != "" && e.URL.Site() != site {
				continue
			}
			lag.Changes = min(mostCounted, lag.Changes+1)
			if written := time.Unix(0, e.At); lag.Oldest.IsZero() || written.Before(lag.Oldest) {
				lag.Oldest = written
			}
		}
	}
	return lag, nil
}

// A Standing is the state of one reader of the change log, for people.
type Standing struct {
	Name     string      // address of a client; a sink's or webhook's name without secrets
	Site     weburl.Site // the only one that it reads; "": all
	Since    time.Time   // when a client connected; zero: it is no client
	Taken    Cursor      // it has everything up to here; nil: it has not begun
	Handed   int64       // changes or documents that it took in this run
	Failures int64       // attempts that failed since the last that did not
}

// position returns the sum of the positions: the smallest of several is about the furthest behind.
func (s *Standing) position() (sum uint64) {
	for _, n := range s.Taken {
		sum += n
	}
	return sum
}
