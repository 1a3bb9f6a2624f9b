// Package units prints numbers as people read them: with commas between thousands, and in the unit that suits them.
package units

import (
	"fmt"
	"strings"
	"time"
)

// Count prints a number with a comma between thousands.
func Count(n int64) string {
	if n < 0 {
		return "-" + Count(-n)
	}
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Plural prints a number of things: 1 page, 2,000 pages.
func Plural(n int64, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "y"):
		return Count(n) + " " + strings.TrimSuffix(thing, "y") + "ies"
	case strings.HasSuffix(thing, "ch"):
		return Count(n) + " " + thing + "es"
	}
	return Count(n) + " " + thing + "s"
}

// Bytes prints a number of bytes with three digits at most: 512 B, 1.2 kB, 34 MB.
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n), 0
	for size >= 999.5 && unit < len(units)-1 {
		size /= 1000
		unit++
	}
	if size < 9.95 {
		return fmt.Sprintf("%.1f %s", size, units[unit])
	}
	return fmt.Sprintf("%.0f %s", size, units[unit])
}

var units = [...]string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}

// Span prints a length of time in the unit that suits it: 12s, 5m, 3.2h, 2.5d.
func Span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0fm", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1fh", d.Hours())
	}
	return fmt.Sprintf("%.1fd", d.Hours()/24)
}
