package main

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"freshet/cmd/freshet/command"
	"freshet/fetch"
	"freshet/frontier"
	"freshet/store/retain"
	"freshet/weburl"
)

// checked is a flag that checks its text before it is set.
type checked struct {
	pflag.Value
	check func(text string) error
}

// Set checks the text and sets the flag.
func (c checked) Set(text string) error {
	if err := c.check(text); err != nil {
		return err
	}
	return c.Value.Set(text)
}

// check adds a check to existing flags.
func check(flags *pflag.FlagSet, do func(text string) error, names ...string) {
	for _, name := range names {
		f := flags.Lookup(name)
		f.Value = checked{f.Value, do}
	}
}

// onDisk accepts a path of this machine, and no address: a folder with its name would be made here.
func onDisk(path string) error {
	if scheme, _, is := strings.Cut(path, "://"); is {
		return fmt.Errorf("%s://: want a path on this machine", scheme)
	}
	return nil
}

// oneOf returns a check that the text is one of the words.
func oneOf(words ...string) func(string) error {
	return func(text string) error {
		if slices.Contains(words, text) {
			return nil
		}
		return fmt.Errorf("%q: want %s%s", text, strings.Join(words, " or "), meant(text, words))
	}
}

// wholeFrom returns a check that the text is a whole number of at least least.
func wholeFrom(least int64) func(string) error {
	return func(text string) error {
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < least {
			return fmt.Errorf("%q: want a whole number, at least %d%s", text, least, meantNumber(text, least))
		}
		return nil
	}
}

// meantNumber guesses the whole number that the user meant by a text such as "10k".
func meantNumber(text string, least int64) string {
	digits := strings.ToLower(strings.NewReplacer(",", "", "_", "", " ", "").Replace(text))
	digits = strings.Replace(strings.Replace(digits, "k", "000", 1), "m", "000000", 1)
	if n, err := strconv.ParseInt(digits, 10, 64); err != nil || n < least {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", digits)
}

// fraction checks that the text is a number from 0 to 1.
func fraction(text string) error {
	if x, err := strconv.ParseFloat(text, 64); err != nil || !(x >= 0 && x <= 1) {
		return fmt.Errorf("%q: want 0 to 1", text)
	}
	return nil
}

// digit checks that the text is a compression level, 0 to 9.
func digit(text string) error {
	if n, err := strconv.ParseUint(text, 10, 64); err != nil || n > 9 {
		return fmt.Errorf("%q: want 0 to 9", text)
	}
	return nil
}

// notNegative checks that the text is a number of 0 or more.
func notNegative(text string) error {
	if n, err := strconv.ParseFloat(text, 64); err != nil || !(n >= 0 && n <= math.MaxFloat64) {
		return fmt.Errorf("%q: want a number, 0 or more", text)
	}
	return nil
}

func truth(text string) error {
	if _, err := strconv.ParseBool(text); err != nil {
		return fmt.Errorf("%q: want true or false", text)
	}
	return nil
}

// printable checks that the text can be part of a header's line.
func printable(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("%q: has a control character", text)
	}
	return nil
}

// byteCount is a flag for a size in bytes: 500, 64KiB, 16MiB, 1GB.
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
		number = strings.TrimSpace(number)
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n >= 0 && n <= math.MaxInt64/int64(unit.bytes) {
			*c = byteCount(n * int64(unit.bytes)) // exact, where a float is not
			return nil
		}
		value, err := strconv.ParseFloat(number, 64)
		if err != nil || !(value >= 0 && value*unit.bytes < math.MaxInt64) {
			break
		}
		*c = byteCount(value * unit.bytes)
		return nil
	}
	hint := ""
	if last := len(text) - 1; last > 0 && strings.Contains("kKmMgGtT", text[last:]) && c.Set(text[:last]) == nil {
		hint = fmt.Sprintf(" (did you mean %s%siB?)", text[:last], strings.ToUpper(text[last:]))
	}
	return fmt.Errorf("%q: want a size such as 500, 64KiB or 16MiB%s", text, hint)
}

// String returns the size in the form that Set reads.
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

// Set adds one or several HOST=ADDR:PORT, separated by commas.
func (m resolveMap) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		host, target, _ := strings.Cut(part, "=")
		address, err := netip.ParseAddrPort(target)
		u, hostErr := weburl.Parse("http://" + host + "/")
		if err != nil || hostErr != nil || strings.Contains(host, "@") || u.String() != "http://"+u.Host()+"/" {
			return fmt.Errorf("%q: want HOST=ADDR:PORT, such as example.test=127.0.0.2:8080", part)
		}
		m[u.Site().Name()] = address
	}
	return nil
}

// String returns the pairs, sorted by host.
func (m resolveMap) String() string { return strings.Join(m.GetSlice(), ",") }

// Type names the flag's kind in help texts.
func (resolveMap) Type() string { return "HOST=ADDR:PORT" }

// GetSlice returns the pairs, sorted by host.
func (m resolveMap) GetSlice() []string {
	pairs := make([]string, 0, len(m))
	for host, target := range m {
		pairs = append(pairs, host+"="+target.String())
	}
	sort.Strings(pairs)
	return pairs
}

// Append adds a pair.
func (m resolveMap) Append(text string) error { return m.Set(text) }

// Replace replaces all pairs by these.
func (m resolveMap) Replace(texts []string) error {
	clear(m)
	for _, text := range texts {
		if err := m.Set(text); err != nil {
			return err
		}
	}
	return nil
}

// keep is a flag for the limits of the past: versions=N,age=D,bytes=B,tombstones=D.
type keep retain.Keep

// Set changes the limits that the text names. 0 means no limit.
func (k *keep) Set(text string) error {
	changed := *k
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var err error
		var span command.Duration
		switch name {
		case "versions":
			changed.Versions, err = strconv.Atoi(value)
			if err != nil || changed.Versions < 0 {
				err = fmt.Errorf("%q: want a whole number, 0 or more", value)
			}
		case "age":
			err = span.Set(value)
			changed.Age = time.Duration(span)
		case "tombstones":
			err = span.Set(value)
			changed.Tombstones = time.Duration(span)
		case "bytes":
			var size byteCount
			err = size.Set(value)
			changed.Bytes = int64(size)
		default:
			return fmt.Errorf("%q: want versions=N, age=D, bytes=B or tombstones=D, separated by commas", part)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	*k = changed
	return nil
}

// String returns the limits in the form that Set reads.
func (k *keep) String() string {
	age, tombstones, size := command.Duration(k.Age), command.Duration(k.Tombstones), byteCount(k.Bytes)
	return fmt.Sprintf("versions=%d,age=%s,bytes=%s,tombstones=%s", k.Versions, age.String(), size.String(), tombstones.String())
}

// Type names the flag's kind in help texts.
func (*keep) Type() string { return "limits" }

// bandwidth is a flag for a limit in bytes a second, by hours of the day: "2MiB", or "200KiB@8:00-18:00
// Europe/Berlin; 2MiB". The first limit whose hours include the present time counts.
type bandwidth struct {
	text string
	caps []timedCap
}

type timedCap struct {
	rate  byteCount
	hours frontier.Hours
}

// Set parses the limits. An empty text means no limit.
func (b *bandwidth) Set(text string) error {
	var caps []timedCap
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		size, hours, timed := strings.Cut(part, "@")
		var c timedCap
		if err := c.rate.Set(size); err != nil {
			return fmt.Errorf("%w a second, with @ and hours or without", err)
		}
		if timed {
			var err error
			if c.hours, err = frontier.ParseHours(hours); err != nil {
				return err
			}
		}
		caps = append(caps, c)
	}
	b.text, b.caps = text, caps
	return nil
}

// String returns the text that was set.
func (b *bandwidth) String() string { return b.text }

// Type names the flag's kind in help texts.
func (*bandwidth) Type() string { return "bandwidth" }

// pace returns the limit, or nil if there is none.
func (b *bandwidth) pace() *fetch.Pace {
	if len(b.caps) == 0 {
		return nil
	}
	return fetch.NewPace(func(now time.Time) float64 {
		for _, c := range b.caps {
			if c.hours.Next(now).Equal(now) {
				return float64(c.rate)
			}
		}
		return 0
	})
}
