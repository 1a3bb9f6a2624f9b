package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"freshet/clock"
	"freshet/node"
)

// TestLineOfRetries holds that the line of progress explains the wait when only failed pages are left.
func TestLineOfRetries(t *testing.T) {
	s := node.Status{State: "crawling", QueuedNew: 1, SitesWaiting: 1, Forecast: node.Forecast{RemainingS: 1e9}}
	s.Pages, s.Sites, s.URLsFailed, s.Bytes = 6, 2, 1, 2900
	if got, want := line(s), "6 of about 7 pages  2.9 kB  2 sites  1 failed, to be asked again"; got != want {
		t.Errorf("%q: want %q", got, want)
	}
	s.Connections = 1
	if got := line(s); strings.Contains(got, "again") {
		t.Errorf("%q while a request is under way", got)
	}
	s.Connections, s.NextRequestS = 0, 0.2
	if got := line(s); strings.Contains(got, "again") {
		t.Errorf("%q just before a request", got)
	}
	s.NextRequestS, s.QueuedNew = 0, 26
	if got := line(s); strings.Contains(got, "again") {
		t.Errorf("%q while pages wait that have not failed", got)
	}
}

// TestWorking holds that a long-running command prints every ten seconds what it does and how much it has read or
// written.
func TestWorking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := clock.Real()
		w := startWorking(&out, c, "opening d")
		if err := c.Sleep(t.Context(), 11*time.Second); err != nil {
			t.Fatal(err)
		}
		w.say("reading old.warc.gz")
		in := w.counted(strings.NewReader(strings.Repeat("x", 5000)))
		for buffer := make([]byte, 1000); ; {
			if _, err := in.Read(buffer); err != nil {
				break
			}
		}
		if err := c.Sleep(t.Context(), 10*time.Second); err != nil {
			t.Fatal(err)
		}
		w.say("checking d")
		w.toRead.Store(200_000)
		w.read.Store(50_000)
		if err := c.Sleep(t.Context(), 10*time.Second); err != nil {
			t.Fatal(err)
		}
		w.say("writing new.wacz")
		if _, err := w.counting(io.Discard).Write(make([]byte, 7000)); err != nil {
			t.Fatal(err)
		}
		if err := c.Sleep(t.Context(), 14*time.Second); err != nil {
			t.Fatal(err)
		}
		w.stop()
		if want := "opening d  10s\nreading old.warc.gz  5.0 kB read  20s\nchecking d  25 % of 200 kB read  30s\nwriting new.wacz  7.0 kB written  40s\n"; out.String() != want {
			t.Errorf("said %q, want %q", out.String(), want)
		}
	})
}
