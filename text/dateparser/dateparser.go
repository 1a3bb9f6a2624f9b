// Package dateparser stands in for the module of the same name, which go.mod replaces with it. The library that finds
// main text uses that module for dates in words, and only in a search that Freshet does not ask for. The module builds
// the tables of 200 languages when a program starts. That cost each command 80 MB of memory and 0.1 s.
//
// It has the names that the library needs to compile.
package dateparser

import (
	"errors"
	"time"
)

// A ParserType names a way to read a date.
type ParserType uint8

// The ways that the library names.
const (
	CustomFormat ParserType = iota
	AbsoluteTime
)

// PreferredDateSource says how a date without a year is completed.
type PreferredDateSource uint8

// Past completes it with a year that has passed.
const Past PreferredDateSource = 1

// A Configuration says how dates are read.
type Configuration struct {
	PreferredDateSource PreferredDateSource
	StrictParsing       bool
}

// A Date is a date that was read.
type Date struct{ Time time.Time }

// A Parser reads dates.
type Parser struct{ ParserTypes []ParserType }

// Parse reads no date: it returns an error.
func (*Parser) Parse(*Configuration, string) (Date, error) {
	return Date{}, errors.New("dateparser: dates in words are not read")
}
