package lab

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// span is a duration as a flag, in Go's units or in d, days of 24 hours.
type span time.Duration

// Duration declares a parameter that is a duration, such as 36h or 2191.5d.
func Duration(flags *pflag.FlagSet, name string, value time.Duration, usage string) *time.Duration {
	flags.Var((*span)(&value), name, usage)
	return &value
}

// Set implements pflag.Value.
func (s *span) Set(text string) error {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		days, err := strconv.ParseFloat(number, 64)
		if err != nil || !(days >= 0 && days < 100_000) {
			return fmt.Errorf("lab: duration %q: want days, such as 75d", text)
		}
		*s = span(days * float64(24*time.Hour))
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("lab: duration %q: want one such as 36h or 75d", text)
	}
	*s = span(d)
	return nil
}

// String implements pflag.Value.
func (s *span) String() string {
	d := time.Duration(*s)
	if d >= 24*time.Hour {
		return strconv.FormatFloat(d.Hours()/24, 'f', -1, 64) + "d"
	}
	return d.String()
}

// Type implements pflag.Value.
func (s *span) Type() string { return "duration" }
