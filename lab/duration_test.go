package lab

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestDuration(t *testing.T) {
	tests := []struct {
		text, shown string
		want        time.Duration
		wrong       bool
	}{
		{"75d", "75d", 75 * 24 * time.Hour, false},
		{"2191.5d", "2191.5d", 52596 * time.Hour, false},
		{"36h", "1.5d", 36 * time.Hour, false},
		{"15s", "15s", 15 * time.Second, false},
		{text: "d", wrong: true}, {text: "-1d", wrong: true}, {text: "-1s", wrong: true}, {text: "NaNd", wrong: true}, {text: "75", wrong: true},
	}
	for _, test := range tests {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		got := Duration(flags, "span", time.Hour, "")
		err := flags.Parse([]string{"--span=" + test.text})
		if (err != nil) != test.wrong || err == nil && (*got != test.want || flags.Lookup("span").Value.String() != test.shown) {
			t.Errorf("%q: %v, %v: %v", test.text, *got, flags.Lookup("span").Value, err)
		}
	}
}
