package node

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/fetch"
)

// TestSilence holds that a crawl says once that no site answers, and once that they do again. It says nothing while any
// site answers, nor of sites that never did while others have.
func TestSilence(t *testing.T) {
	host := func(kind string, n int) string { return fmt.Sprintf("%s%d.test", kind, n) }
	fails := &fetch.Result{Outcome: fetch.ConnectFailed, Err: errors.New("no route to host")}
	answers := &fetch.Result{Outcome: fetch.Answered, Status: 200}
	for _, c := range []struct {
		name    string
		living  int // hosts that answer at first
		after   func(s *silence, round int)
		silent  bool
		answers bool // again
	}{
		{"the only site", 1, func(s *silence, _ int) { s.ended(host("h", 0), fails) }, true, false},
		{"all of many", 500, func(s *silence, round int) { s.ended(host("h", round), fails) }, true, false},
		{"one of many", 500, func(s *silence, _ int) { s.ended(host("h", 0), fails) }, false, false},
		{"one of two", 2, func(s *silence, _ int) { s.ended(host("h", 0), fails) }, false, false},
		{"all but one", 500, func(s *silence, round int) {
			s.ended(host("h", round), fails)
			if round%5 == 4 {
				s.ended(host("h", 499), answers)
			}
		}, false, false},
		{"dead ones at the end", 500, func(s *silence, round int) { s.ended(host("dead", round), fails) }, false, false},
		{"none ever", 0, func(s *silence, round int) { s.ended(host("dead", round), fails) }, true, false},
		{"for a while", 1, func(s *silence, round int) {
			s.ended(host("h", 0), map[bool]*fetch.Result{true: fails, false: answers}[round < 15])
		}, true, true},
		{"stopped", 1, func(s *silence, _ int) { s.ended(host("h", 0), &fetch.Result{Outcome: fetch.Canceled}) }, false, false},
		{"not allowed", 1, func(s *silence, _ int) { s.ended(host("h", 0), &fetch.Result{Outcome: fetch.Refused}) }, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said strings.Builder
				s := newSilence(clock.Real(), slog.New(slog.NewTextHandler(&said, nil)))
				for n := range c.living {
					s.ended(host("h", n), answers)
				}
				for round := range 20 {
					c.after(s, round)
					for range 10 {
						s.look()
						if err := clock.Real().Sleep(t.Context(), time.Second); err != nil {
							t.Fatal(err)
						}
					}
				}
				count := func(text string) int { return strings.Count(said.String(), text) }
				if got := count("no site answers") == 1 && count("no route to host") == 1; got != c.silent {
					t.Errorf("says that none answers: %v\n%s", got, said.String())
				}
				if got := count("answer again") == 1; got != c.answers {
					t.Errorf("says that they answer again: %v\n%s", got, said.String())
				}
			})
		})
	}
}

// TestSilenceOfTheWeb holds that a crawl counts the requests without an answer after the last one with an answer.
func TestSilenceOfTheWeb(t *testing.T) {
	web := newTestWeb(t, 1, 5)
	o := web.options(t, vfs.NewMem(), "data")
	o.Clock = clock.New(time.Unix(1.8e9, 0), 10_000) // for back-offs of minutes
	answered := 0
	web.onRequest = func(n int) {
		if answered = n; n == 4 {
			go web.server.CloseClientConnections()
			web.server.Listener.Close()
		}
	}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	if answered != 4 || e.silence.hosts != 1 || e.silence.failed < silentRequests || len(e.silence.lost) != 1 {
		t.Errorf("after %d answers: %d hosts, %d failed, %v lost", answered, e.silence.hosts, e.silence.failed, e.silence.lost)
	}
}
