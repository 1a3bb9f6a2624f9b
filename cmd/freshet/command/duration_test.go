package command

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDurationSet(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		text  string
		want  time.Duration
		wrong bool
	}{
		{text: "15s", want: 15 * time.Second}, {text: "24h", want: day}, {text: "7d", want: 7 * day}, {text: "1d12h30m", want: 36*time.Hour + 30*time.Minute},
		{text: "0.5d", want: 12 * time.Hour}, {text: "0", want: 0}, {text: "0s", want: 0}, {text: "0d", want: 0}, {text: "1.5h", want: 90 * time.Minute},
		{text: "106751d23h47m16.854775807s", want: math.MaxInt64},
		{text: "106751d23h47m16.854775808s", wrong: true}, {text: "106752d", wrong: true}, {text: "1e300d", wrong: true}, {text: "infd", wrong: true}, {text: "nand", wrong: true},
		{text: "", wrong: true}, {text: "d", wrong: true}, {text: "15", wrong: true}, {text: "-1s", wrong: true}, {text: "-1d", wrong: true}, {text: "2d-1h", wrong: true}, {text: "1d2d", wrong: true},
	}
	for _, test := range tests {
		var d Duration
		if err := d.Set(test.text); (err != nil) != test.wrong || time.Duration(d) != test.want {
			t.Errorf("Set(%q): %v, %v: want %v", test.text, time.Duration(d), err, test.want)
		}
	}
}

func TestDurationString(t *testing.T) {
	for text, want := range map[string]string{"3600s": "1h", "90m": "1h30m", "24h": "1d", "48h": "2d", "0s": "0s", "10m": "10m", "100ms": "100ms", "36h": "36h", "600s": "10m"} {
		var d Duration
		if err := d.Set(text); err != nil || d.String() != want {
			t.Errorf("%s: %s, %v: want %s", text, d.String(), err, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Min(0).Draw(t, "ns"))
		if rapid.Bool().Draw(t, "whole") {
			d -= d % Duration(24*time.Hour)
		}
		var again Duration
		if err := again.Set(d.String()); err != nil || again != d {
			t.Fatalf("%s: read back as %d, %v: want %d", d.String(), again, err, d)
		}
	})
}
