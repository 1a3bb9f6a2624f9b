package robots

import (
	"fmt"
	"testing"
	"time"

	"freshet/weburl"
)

// TestWaysStay holds that the book follows each redirected robots.txt to its end, even if it has room for one at a
// time. Then the other sites wait their turn.
func TestWaysStay(t *testing.T) {
	now := time.Unix(2_000_000_000, 0)
	book := NewBook("freshet", false, 3000) // room for one way
	patience := Patience{First: time.Minute, Tries: 2}
	type site struct {
		name     weburl.Site
		failures int
		next     time.Time
		asked    int
		done     bool
	}
	sites := make([]*site, 4)
	for i := range sites {
		sites[i] = &site{name: weburl.Site(fmt.Sprintf("http://s%d.test", i)), next: now}
	}
	for left := len(sites); left > 0; now = now.Add(time.Second) {
		for _, s := range sites {
			if s.done || now.Before(s.next) {
				continue
			}
			if s.asked++; s.asked > 20 {
				t.Fatalf("%s is asked for the twenty-first time", s.name)
			}
			answer := Answer{Reached: true}
			if _, at := book.Where(s.name, now); at == At(s.name) {
				answer = Answer{Redirect: At("https" + s.name[len("http"):])}
			}
			v := book.Judge(s.name, answer, nil, s.failures, patience, now)
			switch {
			case !v.Retry.IsZero():
				s.failures++
				s.next = v.Retry
			case !v.Until.IsZero():
				s.done = true
				left--
			default:
				s.next = now.Add(time.Second) // the interval
			}
		}
	}
}
