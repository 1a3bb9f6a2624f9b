package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"freshet/clock"
)

// pace is a flag for the rate of a clock, optionally with its start: 86400, or 86400@2026-01-31T12:00:00Z.
type pace struct {
	rate  float64   // its seconds in a second
	start time.Time // when it agreed with all other clocks; zero: when it is opened
}

// fastestPace bounds the rate of a clock.
const fastestPace = 1e6

// Set reads the flag's text.
func (p *pace) Set(text string) (err error) {
	rate, start, dated := strings.Cut(text, "@")
	read := pace{}
	if read.rate, err = strconv.ParseFloat(rate, 64); err != nil || !(read.rate > 0 && read.rate <= fastestPace) {
		return fmt.Errorf("%q: want a rate of more than 0, at most %.0f", rate, fastestPace)
	}
	if dated {
		if read.start, err = time.Parse(time.RFC3339, start); err != nil {
			return fmt.Errorf("%q: want a time such as 2026-01-31T12:00:00Z", start)
		}
	}
	*p = read
	return nil
}

func (p *pace) String() string {
	rate := strconv.FormatFloat(p.rate, 'f', -1, 64)
	if p.start.IsZero() {
		return rate
	}
	return rate + "@" + p.start.UTC().Format(time.RFC3339Nano)
}

// Type names the flag's value.
func (p *pace) Type() string { return "rate@time" }

// clock opens a clock with this pace. If the pace has a start, all its clocks agree, in all processes and at all
// times.
func (p *pace) clock() *clock.Clock {
	real := clock.Real()
	if p.rate == 1 {
		return real
	}
	now := real.Now()
	passed := 0.0
	if !p.start.IsZero() {
		passed = float64(now.Sub(p.start)) * (p.rate - 1)
	}
	return clock.New(now.Add(time.Duration(min(passed, math.MaxInt64/2))), p.rate)
}
