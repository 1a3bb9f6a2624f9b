package lab

import (
	"fmt"
	"math"
	"slices"
)

// Result is the result of an experiment. Its JSON is one object that begins with "experiment", "parameters" and
// "rows".
type Result struct {
	Experiment  string       `json:"experiment"`
	Parameters  Row          `json:"parameters"`
	Rows        []Row        `json:"rows"`
	Comparisons []Comparison `json:"comparisons,omitempty"`
	Claims      []Claim      `json:"claims,omitempty"`
	Plots       []Plot       `json:"plots,omitempty"`

	progress func(Progress)
}

// Parameter sets a parameter in the result. A run uses it for facts such as a web's number of pages, or to replace a
// value such as "all" by its meaning.
func (r *Result) Parameter(name string, value any) {
	r.Parameters = slices.DeleteFunc(r.Parameters, func(f Field) bool { return f.Name == name })
	r.Parameters = append(r.Parameters, makeRow([]any{name, value})...)
}

// Row adds a row of alternating names and values. Names are lower case with _ and end in their unit.
//
//	out.Row("order", "length", "connections", 64, "duration_s", 187542.0)
//
// An Interval as value makes two columns, the second with half its width. Row panics if a name or value is missing.
func (r *Result) Row(pairs ...any) { r.Rows = append(r.Rows, makeRow(pairs)) }

// Compare adds a comparison.
func (r *Result) Compare(c Comparison) { r.Comparisons = append(r.Comparisons, c) }

// Claim adds a claim of the paper and whether it holds here, with the figures as evidence.
func (r *Result) Claim(claim string, holds bool, evidence string, args ...any) {
	verdict := Denied
	if holds {
		verdict = Confirmed
	}
	r.Claims = append(r.Claims, Claim{claim, verdict, fmt.Sprintf(evidence, args...)})
}

// Plot adds a plot.
func (r *Result) Plot(p Plot) { r.Plots = append(r.Plots, p) }

// Progress reports progress to the caller of Trial.Run.
func (r *Result) Progress(doing string, done, total int) {
	if r.progress != nil {
		r.progress(Progress{doing, done, total})
	}
}

// Verdict is the outcome of a comparison or a claim.
type Verdict string

// The verdicts: on a comparison, and on a claim.
const (
	Agrees    Verdict = "agrees"
	Differs   Verdict = "differs"
	Confirmed Verdict = "confirmed"
	Denied    Verdict = "denied"
)

// Comparison is a measured number with a published or a reference number. Either Published or Reference is set.
type Comparison struct {
	What      string   `json:"what"`
	Source    string   `json:"source"`              // the number's source: "Table I", "closed form"
	Published *float64 `json:"published,omitempty"` // as the paper prints it
	// from theory, or from an independent program
	Reference *float64 `json:"reference,omitempty"`
	Measured  float64  `json:"measured"`
	// the largest difference that agrees: half an interval, or the rounding in print
	Tolerance float64 `json:"tolerance"`
}

// Expected returns the published or reference number.
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

// Claim is a statement of a paper, and whether it holds here.
type Claim struct {
	Claim    string  `json:"claim"`
	Verdict  Verdict `json:"verdict"`
	Evidence string  `json:"evidence"`
}
