package dashboard

import (
	"strings"
	"testing"
	"time"
)

// TestJudgeDisk waits until a run's pace tells something before it says that the disk will be full.
func TestJudgeDisk(t *testing.T) {
	for seconds, want := range map[float64]string{5: "well", 3600: "ill"} {
		n := now{State: "running", DurationS: seconds, Pages: 10, DiskFullS: 3600}
		if got := judge(n, nil, nil); got.Kind != want || strings.Contains(got.Text, "disk") != (want == "ill") {
			t.Errorf("after %v s: %+v, want %s", seconds, got, want)
		}
	}
}

// TestJudgeEmpty says of a crawl without a page how to begin, and not for ever that it has just begun.
func TestJudgeEmpty(t *testing.T) {
	for seconds, want := range map[float64]string{1: "The crawl has just begun.", 60: "No page is known yet. Name the first ones with freshet add URL, or in a file with --seeds."} {
		if got := judge(now{State: "running", DurationS: seconds}, nil, nil); got.Text != want {
			t.Errorf("after %v s: %q, want %q", seconds, got.Text, want)
		}
	}
	if got := left(now{}); got != "0s" {
		t.Errorf("nothing left: %q", got)
	}
}

// TestSeconds prints lengths of time as people read them, from a moment to longer than a time.Duration lasts.
func TestSeconds(t *testing.T) {
	for v, want := range map[float64]string{0: "0s", 0.05: "50ms", 12: "12s", 300: "5m", 330: "5m30s", 3599.7: "1h", 48240: "13h24m", 216000: "2d12h", 1e12: "53376d"} {
		if got := seconds(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

// TestScales divides axes so that labels are numbers that people expect.
func TestScales(t *testing.T) {
	for _, tt := range []struct {
		scale scale
		end   float64
		step  float64
		text  string // of the end
	}{
		{numbers, 787, 200, "787"}, {numbers, 3, 1, "3"}, {numbers, 0.02, 0.005, "0.02"},
		{shares, 1, 0.25, "100 %"}, {shares, 0.087, 0.025, "8.7 %"},
		{spans, 90, 30, "90s"}, {spans, 3600, 900, "60m"}, {spans, 80000, 6 * 3600, "22h13m"}, {spans, 26.4 * 86400, 10 * 86400, "26d10h"}, {spans, 2.5 * 86400, 86400, "2d12h"},
		{sizes, 34e6, 10e6, "34 MB"},
		{paces, 45, 20, "45/s"}, {paces, 0.0058, 10.0 / 3600, "20.9/h"},
	} {
		step, text := tt.scale(tt.end)
		if diff := step/tt.step - 1; diff > 1e-9 || diff < -1e-9 || text(tt.end) != tt.text {
			t.Errorf("up to %v: steps of %v, %q at the end; want %v, %q", tt.end, step, text(tt.end), tt.step, tt.text)
		}
	}
}

// TestDraw starts an axis of shares near its lowest number, so that small changes show.
func TestDraw(t *testing.T) {
	c := chart{Title: "Shares", scale: shares, most: 1, Lines: []line{{Name: "all", points: []point{{0, 0.9}, {86400 * 3, 0.97}}}}}
	d := c.Draw()
	if first, last := d.Rules[0].Text, d.Rules[len(d.Rules)-1].Text; first != "90 %" || last != "98 %" || d.Words != "Shares: all 97 %" {
		t.Errorf("from %s to %s: %s", first, last, d.Words)
	}
	if len(d.Marks) != 4 || d.Marks[1].Text != "1d" {
		t.Errorf("the axis: %+v", d.Marks)
	}
	c.Lines[0].points = []point{{0, 0.9989}, {86400, 0.9983}}
	said := map[string]bool{}
	for _, rule := range c.Draw().Rules {
		if said[rule.Text] {
			t.Errorf("two rules say %s", rule.Text)
		}
		said[rule.Text] = true
	}
	if (chart{scale: numbers}).Draw() != nil {
		t.Error("a chart without points is drawn")
	}
}

// TestRestAfter holds that open windows cost little, however long a pane takes.
func TestRestAfter(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{time.Millisecond: paneEvery, 50 * time.Millisecond: 9950 * time.Millisecond, time.Minute: 199 * time.Minute} {
		if got := restAfter(took); got != want {
			t.Errorf("after %v: %v, want %v", took, got, want)
		}
	}
}

// TestAsksAgain holds that no remedy says that a page is asked for again without saying how often: then it is not due.
func TestAsksAgain(t *testing.T) {
	for _, r := range reasons {
		if strings.Contains(r.remedy, "Freshet asks again") && !strings.Contains(r.remedy, "--retries") {
			t.Errorf("%s: %s", r.begins, r.remedy)
		}
	}
}
