package sim

import (
	"sync"
	"time"

	"freshet/refresh"
	"freshet/weburl"
)

// A Judge knows how fresh a crawler's copy of a web really is. It also knows how fresh the copy would be by the uniform
// rule: with the same visits at the same times, but each to the page that was visited longest ago. Both begin with the
// same copies. Safe for concurrent use.
type Judge struct {
	web *Web

	mu      sync.Mutex
	crawler map[weburl.URL]time.Time // when each copy was made
	uniform map[weburl.URL]time.Time
	rule    *refresh.Uniform
	urls    []weburl.URL // by refresh.ID
}

// NewJudge returns the Judge of a crawler that has no copies yet.
func NewJudge(w *Web) *Judge {
	return &Judge{web: w, crawler: map[weburl.URL]time.Time{}, uniform: map[weburl.URL]time.Time{}, rule: refresh.NewUniform()}
}

// Visited records a visit by the crawler. copied means that the visit got a copy of the page as it was at that time;
// kept means that the crawler still has a copy after the visit. URLs that are not pages of the web, such as pictures,
// are ignored.
func (j *Judge) Visited(u weburl.URL, at time.Time, copied, kept bool) {
	if _, ok := j.web.Process(u); !ok {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, known := j.crawler[u]
	switch {
	case !known && copied && kept:
		j.rule.Add(refresh.ID(len(j.urls)), refresh.Page{Fresh: j.seconds(at)})
		j.urls = append(j.urls, u)
		j.crawler[u], j.uniform[u] = at, at
		return
	case !known:
		return
	case !kept:
		delete(j.crawler, u)
	case copied:
		j.crawler[u] = at
	}
	j.turn(at)
}

// turn makes one visit by the uniform rule. The rule drops a page when a visit finds that it is gone.
func (j *Judge) turn(at time.Time) {
	id, _, ok := j.rule.Next(j.seconds(at))
	if !ok {
		return
	}
	u := j.urls[id]
	if _, exists := j.web.Truth(u, at); !exists {
		j.rule.Remove(id)
		delete(j.uniform, u)
		return
	}
	j.uniform[u] = at
	j.rule.Visited(id, refresh.Visit{At: j.seconds(at)})
}

func (j *Judge) seconds(at time.Time) float64 { return at.Sub(j.web.Start()).Seconds() }

// Verdict is the number of copies and the share of them that is up to date. A copy of a page that has vanished is not.
type Verdict struct {
	Pages     int
	Freshness float64
}

// Verdicts returns how fresh the copies are now: those of the crawler and those of the uniform rule. O(pages ×
// changes).
func (j *Judge) Verdicts(now time.Time) (crawler, uniform Verdict) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.verdict(j.crawler, now), j.verdict(j.uniform, now)
}

func (j *Judge) verdict(copies map[weburl.URL]time.Time, now time.Time) Verdict {
	v := Verdict{Pages: len(copies)}
	fresh := 0
	for u, at := range copies {
		if j.web.Fresh(u, at, now) {
			fresh++
		}
	}
	if v.Pages > 0 {
		v.Freshness = float64(fresh) / float64(v.Pages)
	}
	return v
}
