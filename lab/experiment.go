package lab

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
)

// Experiment is one thing to measure.
type Experiment struct {
	Name       string // one word, as a user types it
	Summary    string // one line, beginning with a verb
	Reproduces string // which table, figure or claim of which paper; empty for none

	// Prepare declares the parameters in flags, each with its unit in the usage, and returns what
	// runs with the values that they have once they are parsed. Every call stands for itself.
	Prepare func(flags *pflag.FlagSet) Runner

	// Quick are the arguments of a run of a few seconds, for a report in a hurry: "--runs=5".
	Quick []string
}

// Runner measures, and tells out what it finds. It ends soon after ctx does, with its error.
type Runner func(ctx context.Context, out *Result) error

// ParameterError says that a parameter's value is no good.
type ParameterError struct {
	Name  string // of the flag, without dashes
	Value any
	Want  string // what would be right
}

// Error returns "--name value: want …".
func (e *ParameterError) Error() string {
	return fmt.Sprintf("--%s %v: want %s", e.Name, e.Value, e.Want)
}

// Trial is an experiment whose parameters are being set.
type Trial struct {
	experiment Experiment
	flags      *pflag.FlagSet
	run        Runner
}

// New returns a trial of the experiment with its default parameters.
func (e Experiment) New() *Trial {
	flags := pflag.NewFlagSet(e.Name, pflag.ContinueOnError)
	flags.SortFlags = false
	return &Trial{experiment: e, flags: flags, run: e.Prepare(flags)}
}

// Flags returns the parameters, in the order in which they were declared, to be shown and parsed.
func (t *Trial) Flags() *pflag.FlagSet { return t.flags }

// Parameters returns the parameters with the values that they have now.
func (t *Trial) Parameters() Row {
	var row Row
	t.flags.VisitAll(func(f *pflag.Flag) { row = append(row, parameter(f)) })
	return row
}

// Run runs the trial. progress, if not nil, hears how far it is, from the goroutine that measures.
// A failed run has no result; a parameter that is no good is a *ParameterError.
func (t *Trial) Run(ctx context.Context, progress func(Progress)) (*Result, error) {
	out := &Result{Experiment: t.experiment.Name, Parameters: t.Parameters(), progress: progress}
	if err := t.run(ctx, out); err != nil {
		return nil, fmt.Errorf("%s: %w", t.experiment.Name, err)
	}
	return out, nil
}

// Progress says how far a run is.
type Progress struct {
	Doing       string // "" or what is going on, such as a policy's name
	Done, Total int    // in steps of the experiment's own; Total is 0 if it is not known
}

// String returns "policy 3/20", or what of it is known.
func (p Progress) String() string {
	switch {
	case p.Total == 0:
		return p.Doing
	case p.Doing == "":
		return fmt.Sprintf("%d/%d", p.Done, p.Total)
	}
	return fmt.Sprintf("%s %d/%d", p.Doing, p.Done, p.Total)
}
