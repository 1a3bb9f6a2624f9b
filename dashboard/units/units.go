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

// Span prints a length of time in two units at most: 50ms, 0.3s, 12s, 1m30s, 3h12m, 2d12h.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	two := func(d, unit time.Duration, name string, part time.Duration, partName string) string {
		d = d.Round(part)
		text := fmt.Sprintf("%d%s", d/unit, name)
		if rest := d % unit / part; rest > 0 {
			text += fmt.Sprintf("%d%s", rest, partName)
		}
		return text
	}
	switch {
	case d > 0 && d < 95*time.Millisecond:
		return fmt.Sprintf("%.2gms", max(0.1, d.Seconds()*1000))
	case d < 10*time.Second-50*time.Millisecond:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + "s"
	case d < time.Minute-500*time.Millisecond:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour-500*time.Millisecond:
		return two(d, time.Minute, "m", time.Second, "s")
	case d < 2*day-30*time.Second:
		return two(d, time.Hour, "h", time.Minute, "m")
	}
	return two(d, day, "d", time.Hour, "h")
}
