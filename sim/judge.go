package sim

import (
	"sync"
	"time"

	"freshet/refresh"
	"freshet/weburl"
)

// A Judge knows how fresh a crawler's copy of a web really is, and how fresh it would be if each of its
// visits had gone to the page visited longest ago: uniform, at the same budget and at the same times. Both
// begin with the same copies. It is safe for concurrent use.
type Judge struct {
	web *Web

	mu      sync.Mutex
	crawler map[weburl.URL]time.Time // when each copy was made
	uniform map[weburl.URL]time.Time
	rule    *refresh.Uniform
	urls    []weburl.URL // by refresh.ID
}

// NewJudge returns the judge of a crawler that has no copy yet.
func NewJudge(w *Web) *Judge {
	return &Judge{web: w, crawler: map[weburl.URL]time.Time{}, uniform: map[weburl.URL]time.Time{}, rule: refresh.NewUniform()}
}

// Visited records a visit of the crawler. copied says that it got a copy of the page as it was then, kept that it
// keeps a copy. A URL that is not a page of the web, such as a picture, is ignored.
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

// turn makes one visit of the uniform rule, which drops a page at the first answer that it is gone.
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

// Verdict is the number of copies, and the share of them that is up to date. The copy of a page that has vanished is
// out of date.
type Verdict struct {
	Pages     int
	Freshness float64
}

// Verdicts returns how fresh the copies are now: the crawler's, and those of the uniform rule. O(pages ×
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
