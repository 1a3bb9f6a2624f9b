package fleet

import (
	"fmt"
	"strconv"
)

// A Rule determines how many fetchers a crawl runs. A positive Rule is a fixed number.
type Rule int

// The rules that compute the number.
const (
	Auto   Rule = 0  // switched by the state of the queue
	Stable Rule = -1 // the best fixed number for the rates measured
)

// ParseRule parses "auto", "static" or a number from 1.
func ParseRule(text string) (Rule, error) {
	switch text {
	case "auto":
		return Auto, nil
	case "static":
		return Stable, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return Auto, fmt.Errorf("fleet: %q: want auto, static or a number of fetchers from 1", text)
	}
	return Rule(n), nil
}

// String returns what ParseRule parses.
func (r Rule) String() string {
	switch {
	case r == Auto:
		return "auto"
	case r < 0:
		return "static"
	}
	return strconv.Itoa(int(r))
}
