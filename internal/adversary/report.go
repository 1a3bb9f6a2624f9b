package adversary

import (
	"time"
)

// Paces is how fast the honest hosts were crawled, in requests a second of the web's clock. Requests for missing
// pages that other hosts link to count too, because they use up the host's intervals.
type Paces struct {
	Mean, Least float64
	Slowest     string // host
	Requests    int    // to all honest hosts
}

// Paces returns how fast the honest hosts were crawled. A host's time begins with the first request to any host and
// ends with its own last one.
func (w *Web) Paces() Paces {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	type span struct {
		first, last time.Time
		requests    int
	}
	spans := map[*Host]*span{}
	var began time.Time
	for _, e := range w.log.entries {
		if began.IsZero() || e.Start.Before(began) {
			began = e.Start
		}
		if e.host.Kind.Name != honestName {
			continue
		}
		if spans[e.host] == nil {
			spans[e.host] = &span{first: e.Start}
		}
		spans[e.host].requests++
		spans[e.host].last = e.Start
	}
	var p Paces
	hosts := w.Honest()
	for i, h := range hosts {
		pace := 0.0
		if s := spans[h]; s != nil && s.last.After(began) {
			pace = float64(s.requests) / s.last.Sub(began).Seconds()
			p.Requests += s.requests
		}
		p.Mean += pace / float64(len(hosts))
		if i == 0 || pace < p.Least {
			p.Least, p.Slowest = pace, h.Name
		}
	}
	return p
}

// KindReport is what happened at one kind's hosts.
type KindReport struct {
	Kind, Attacks   string
	Hosts, Requests int
	Bytes           int64 // sent in finished answers
	Cut             int   // answers that the crawler cut off
}

// Report returns the requests to each kind, in the order of the tables.
func (w *Web) Report() []KindReport {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	at := map[string]int{}
	var rows []KindReport
	for _, h := range w.Hosts {
		if _, ok := at[h.Kind.Name]; !ok {
			at[h.Kind.Name] = len(rows)
			rows = append(rows, KindReport{Kind: h.Kind.Name, Attacks: h.Kind.Attacks})
		}
		rows[at[h.Kind.Name]].Hosts++
	}
	for _, e := range w.log.entries {
		row := &rows[at[e.host.Kind.Name]]
		row.Requests++
		row.Bytes += e.sent
		if e.Cut {
			row.Cut++
		}
	}
	return rows
}
