package sites

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Exchange is one request and its answer, as the server saw them.
type Exchange struct {
	Host   string // the virtual host that was asked
	Target string // path and query, as the client sent them
	Status int    // of the answer; 0 if the client left before the answer
	Start  time.Time
	End    time.Time // zero while the exchange is under way
	Cut    bool      // the client closed the connection before it was answered
}

// Log records the exchanges of any number of servers. The zero value is an empty log. Safe for concurrent use.
type Log struct {
	mu        sync.Mutex
	exchanges []*Exchange
}

// begin records that a request has arrived, and returns its entry, which the log's lock guards.
func (l *Log) begin(host, target string, start time.Time) *Exchange {
	e := &Exchange{Host: host, Target: target, Start: start}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.exchanges = append(l.exchanges, e)
	return e
}

// answer records the status of the answer to e.
func (l *Log) answer(e *Exchange, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Status = status
}

// finish records the end of e, once.
func (l *Log) finish(e *Exchange, end time.Time, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.End.IsZero() {
		e.End, e.Cut = end, cut
	}
}

// Exchanges returns a copy of all exchanges so far, in the order in which their requests reached the handlers.
func (l *Log) Exchanges() []Exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Exchange, len(l.exchanges))
	for i, e := range l.exchanges {
		all[i] = *e
	}
	return all
}

// Violation is a pair of requests to one host that are too close together.
type Violation struct {
	Former, Latter Exchange
	Gap            time.Duration // from the end of the first to the start of the second; negative: they overlapped
	Interval       time.Duration // the least gap allowed
}

// String describes the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s began %v after %s ended, want %v (former %s to %s, latter from %s)",
		v.Latter.Host, v.Latter.Target, v.Gap, v.Former.Target, v.Interval,
		v.Former.Start.Format(wireTime), v.Former.End.Format(wireTime), v.Latter.Start.Format(wireTime))
}

const wireTime = "15:04:05.000000"

// Violations returns the violations among the exchanges so far; see the function Violations.
func (l *Log) Violations(interval time.Duration) []Violation {
	return Violations(l.Exchanges(), interval)
}

// Violations returns every request that began before an earlier request to its host had ended, or less than interval
// after that. They are sorted by host and then by time. An exchange without an end counts as never ended. O(n log n).
func Violations(exchanges []Exchange, interval time.Duration) []Violation {
	sorted := slices.Clone(exchanges)
	slices.SortStableFunc(sorted, func(a, b Exchange) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), a.Start.Compare(b.Start))
	})
	var found []Violation
	var last *Exchange // of this host: the exchange with the latest end so far
	for i := range sorted {
		e := &sorted[i]
		if last == nil || last.Host != e.Host {
			last = e
			continue
		}
		if gap := e.Start.Sub(last.End); last.End.IsZero() {
			found = append(found, Violation{*last, *e, last.Start.Sub(e.Start), interval})
		} else if gap < interval {
			found = append(found, Violation{*last, *e, gap, interval})
		}
		if !last.End.IsZero() && (e.End.IsZero() || e.End.After(last.End)) {
			last = e
		}
	}
	return found
}

// Repeats returns how many answers of status 200 were repeats: for each target of each host, all but the first.
func Repeats(exchanges []Exchange) int {
	answered := make(map[[2]string]bool)
	repeats := 0
	for _, e := range exchanges {
		key := [2]string{e.Host, e.Target}
		if e.Status != 200 {
			continue
		}
		if answered[key] {
			repeats++
		}
		answered[key] = true
	}
	return repeats
}
