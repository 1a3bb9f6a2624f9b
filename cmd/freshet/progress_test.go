package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"freshet/clock"
)

// TestWorking holds that a command which takes long says what it does every ten seconds, and how much it has read.
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
		if err := c.Sleep(t.Context(), 14*time.Second); err != nil {
			t.Fatal(err)
		}
		w.stop()
		if want := "opening d  10s\nreading old.warc.gz  5.0 kB read  20s\n"; out.String() != want {
			t.Errorf("said %q, want %q", out.String(), want)
		}
	})
}
