package main

import (
	"fmt"
	"math"
	"net/netip"
	"sort"
	"strconv"
	"strings"
	"time"
)

// duration is a flag of a length of time: 15s, 24h, 7d, 1d12h.
type duration time.Duration

// Set reads the flag's text: Go's units and d for a day of 24 hours.
func (d *duration) Set(text string) error {
	rest, days := text, 0.0
	if i := strings.IndexByte(text, 'd'); i > 0 {
		var err error
		if days, err = strconv.ParseFloat(text[:i], 64); err != nil {
			return fmt.Errorf("%q: want a duration such as 15s, 24h or 7d", text)
		}
		rest = text[i+1:]
	}
	var span time.Duration
	if rest != "" || days == 0 {
		var err error
		if span, err = time.ParseDuration(rest); err != nil {
			return fmt.Errorf("%q: want a duration such as 15s, 24h or 7d", text)
		}
	}
	total := days*24*float64(time.Hour) + float64(span)
	if !(total >= 0 && total < math.MaxInt64) {
		return fmt.Errorf("%q: want a duration between 0 and 290 years", text)
	}
	*d = duration(total)
	return nil
}

// String returns the duration as Set reads it.
func (d *duration) String() string {
	span := time.Duration(*d)
	const day = 24 * time.Hour
	if span >= day && span%day == 0 {
		return fmt.Sprintf("%dd", span/day)
	}
	return shortDuration(span)
}

// shortDuration prints d without its zero parts: 15s, 24h, 1h30m.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (d *duration) value() time.Duration { return time.Duration(*d) }

// Type names the flag's kind in help texts.
func (*duration) Type() string { return "duration" }

// byteCount is a flag of a size: 500, 64KiB, 16MiB, 1GB.
type byteCount int64

var byteUnits = []struct {
	suffix string
	bytes  float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1},
}

// Set reads a number and a unit.
func (c *byteCount) Set(text string) error {
	for _, unit := range byteUnits {
		number, ok := strings.CutSuffix(text, unit.suffix)
		if !ok {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(value >= 0 && value*unit.bytes < math.MaxInt64) {
			break
		}
		*c = byteCount(value * unit.bytes)
		return nil
	}
	return fmt.Errorf("%q: want a size such as 500, 64KiB or 16MiB", text)
}

// String returns the size as Set reads it.
func (c *byteCount) String() string {
	for _, unit := range []int{3, 2, 1, 0} {
		size := int64(byteUnits[unit].bytes)
		if n := int64(*c); n != 0 && n%size == 0 {
			return fmt.Sprintf("%d%s", n/size, byteUnits[unit].suffix)
		}
	}
	return strconv.FormatInt(int64(*c), 10)
}

// Type names the flag's kind in help texts.
func (*byteCount) Type() string { return "size" }

// resolveMap is the repeatable flag HOST=ADDR:PORT.
type resolveMap map[string]netip.AddrPort

// Set adds one HOST=ADDR:PORT, or several with commas between.
func (m resolveMap) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		host, target, ok := strings.Cut(part, "=")
		address, err := netip.ParseAddrPort(target)
		if !ok || host == "" || err != nil {
			return fmt.Errorf("%q: want HOST=ADDR:PORT, such as example.test=127.0.0.2:8080", part)
		}
		m[strings.ToLower(host)] = address
	}
	return nil
}

// String returns the pairs by host.
func (m resolveMap) String() string { return strings.Join(m.GetSlice(), ",") }

// Type names the flag's kind in help texts.
func (resolveMap) Type() string { return "HOST=ADDR:PORT" }

// GetSlice returns the pairs by host.
func (m resolveMap) GetSlice() []string {
	pairs := make([]string, 0, len(m))
	for host, target := range m {
		pairs = append(pairs, host+"="+target.String())
	}
	sort.Strings(pairs)
	return pairs
}

// Append adds one pair.
func (m resolveMap) Append(text string) error { return m.Set(text) }

// Replace forgets all pairs and adds these.
func (m resolveMap) Replace(texts []string) error {
	clear(m)
	for _, text := range texts {
		if err := m.Set(text); err != nil {
			return err
		}
	}
	return nil
}
