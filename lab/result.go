package lab

import (
	"fmt"
	"math"
	"slices"
)

// Result is what an experiment found. Its JSON is one object, "experiment", "parameters" and "rows"
// first.
type Result struct {
	Experiment  string       `json:"experiment"`
	Parameters  Row          `json:"parameters"`
	Rows        []Row        `json:"rows"`
	Comparisons []Comparison `json:"comparisons,omitempty"`
	Claims      []Claim      `json:"claims,omitempty"`
	Plots       []Plot       `json:"plots,omitempty"`

	progress func(Progress)
}

// Parameter adds what a run found its parameters to mean, such as how many pages a web has, or replaces
// a parameter's value by what it came to.
func (r *Result) Parameter(name string, value any) {
	r.Parameters = slices.DeleteFunc(r.Parameters, func(f Field) bool { return f.Name == name })
	r.Parameters = append(r.Parameters, makeRow([]any{name, value})...)
}

// Row adds a row: names, in lower case with _ and with their unit at the end, and values alternately.
//
//	out.Row("order", "length", "connections", 64, "duration_s", 187542.0)
//
// An Interval as value makes two columns, the second with half its width. It panics if the pairs are
// not whole.
func (r *Result) Row(pairs ...any) { r.Rows = append(r.Rows, makeRow(pairs)) }

// Compare adds a comparison.
func (r *Result) Compare(c Comparison) { r.Comparisons = append(r.Comparisons, c) }

// Claim adds a claim of the paper's and whether it holds here, with the figures that show it.
func (r *Result) Claim(claim string, holds bool, evidence string, args ...any) {
	verdict := Denied
	if holds {
		verdict = Confirmed
	}
	r.Claims = append(r.Claims, Claim{claim, verdict, fmt.Sprintf(evidence, args...)})
}

// Plot adds a plot.
func (r *Result) Plot(p Plot) { r.Plots = append(r.Plots, p) }

// Progress tells who listens how far the run is.
func (r *Result) Progress(doing string, done, total int) {
	if r.progress != nil {
		r.progress(Progress{doing, done, total})
	}
}

// Verdict says how a comparison or a claim came out.
type Verdict string

// The verdicts: on a comparison, and on a claim.
const (
	Agrees    Verdict = "agrees"
	Differs   Verdict = "differs"
	Confirmed Verdict = "confirmed"
	Denied    Verdict = "denied"
)

// Comparison is a number that was published, or a reference, beside the measured one. One of Published and Reference is
// set.
type Comparison struct {
	What      string   `json:"what"`
	Source    string   `json:"source"`              // where the number stands: "Table I", "closed form"
	Published *float64 `json:"published,omitempty"` // as the paper prints it
	// of theory, or of a program that is independent of the measured one
	Reference *float64 `json:"reference,omitempty"`
	Measured  float64  `json:"measured"`
	// the largest difference that agrees: half an interval, or as rounded in print
	Tolerance float64 `json:"tolerance"`
}

// Expected returns the number that the measured one is compared with.
func (c Comparison) Expected() float64 {
	if c.Published != nil {
		return *c.Published
	}
	return *c.Reference
}

// Verdict returns Agrees if the difference is at most the tolerance, else Differs.
func (c Comparison) Verdict() Verdict {
	if math.Abs(c.Measured-c.Expected()) <= c.Tolerance {
		return Agrees
	}
	return Differs
}

// Claim is what a paper says in words, and whether it holds here.
type Claim struct {
	Claim    string  `json:"claim"`
	Verdict  Verdict `json:"verdict"`
	Evidence string  `json:"evidence"`
}
