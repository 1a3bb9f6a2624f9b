package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Duration is a flag of a length of time: 15s, 24h, 7d, 1d12h.
type Duration time.Duration

// Set reads the flag's text: Go's units and d for a day of 24 hours.
func (d *Duration) Set(text string) error {
	wrong := fmt.Errorf("%q: want a duration such as 15s, 24h or 7d%s", text, meantDuration(text))
	rest, days := text, 0.0
	if number, after, ok := strings.Cut(text, "d"); ok {
		var err error
		if days, err = strconv.ParseFloat(number, 64); err != nil {
			return wrong
		}
		if rest = after; rest == "" {
			rest = "0"
		}
	}
	span, err := time.ParseDuration(rest)
	if err != nil {
		return wrong
	}
	whole := days * float64(24*time.Hour) // exact for a number of days
	if !(whole >= 0 && whole < math.MaxInt64) || span < 0 || time.Duration(whole) > math.MaxInt64-span {
		return fmt.Errorf("%q: want a duration between 0 and 290 years", text)
	}
	*d = Duration(time.Duration(whole) + span)
	return nil
}

// meantDuration guesses the duration that a text without a unit, or with an unknown unit, is meant to be.
func meantDuration(text string) string {
	word := strings.TrimLeft(text, "0123456789.")
	number, err := strconv.ParseFloat(strings.TrimSuffix(text, word), 64)
	if err != nil || number == 0 {
		return ""
	}
	word = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(word)), "s")
	for _, unit := range []struct {
		name, short string
		times       float64
	}{{"second", "s", 1}, {"minute", "m", 1}, {"hour", "h", 1}, {"day", "d", 1}, {"week", "d", 7}} {
		if strings.HasPrefix(unit.name, word) {
			return fmt.Sprintf(" (did you mean %g%s?)", number*unit.times, unit.short)
		}
	}
	return ""
}

// String returns the duration as Set reads it.
func (d *Duration) String() string {
	span := time.Duration(*d)
	const day = 24 * time.Hour
	if span >= day && span%day == 0 {
		return fmt.Sprintf("%dd", span/day)
	}
	return ShortDuration(span)
}

// ShortDuration prints d without its zero parts: 15s, 24h, 1h30m.
func ShortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Type names the flag's kind in help texts.
func (*Duration) Type() string { return "duration" }
