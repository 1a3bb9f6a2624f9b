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
	Reproduces string // the paper's table, figure or claim; empty for none

	// Prepare declares the parameters in flags, each with its unit in the usage. The Runner that it
	// returns runs with the parsed values. Calls are independent of one another.
	Prepare func(flags *pflag.FlagSet) Runner

	// Quick are the arguments of a run of a few seconds, for a quick report: "--runs=5".
	Quick []string
}

// Runner measures and adds its results to out. When ctx ends it soon returns the error of ctx.
type Runner func(ctx context.Context, out *Result) error

// ParameterError is the error of a parameter with an invalid value.
type ParameterError struct {
	Name  string // of the flag, without dashes
	Value any
	Want  string // what would be right
}

// Error returns "--name value: want …".
func (e *ParameterError) Error() string {
	return fmt.Sprintf("--%s %v: want %s", e.Name, e.Value, e.Want)
}

// Trial is an experiment with its parameters.
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

// Flags returns the parameters in the order of their declaration, to show or parse them.
func (t *Trial) Flags() *pflag.FlagSet { return t.flags }

// Parameters returns the parameters with their present values.
func (t *Trial) Parameters() Row {
	var row Row
	t.flags.VisitAll(func(f *pflag.Flag) { row = append(row, parameter(f)) })
	return row
}

// Run runs the trial. It calls progress, if not nil, from the goroutine that measures. If a run fails the result is
// nil. The error for an invalid parameter is a *ParameterError.
func (t *Trial) Run(ctx context.Context, progress func(Progress)) (*Result, error) {
	out := &Result{Experiment: t.experiment.Name, Parameters: t.Parameters(), progress: progress}
	if err := t.run(ctx, out); err != nil {
		return nil, fmt.Errorf("%s: %w", t.experiment.Name, err)
	}
	return out, nil
}

// Progress is the progress of a run.
type Progress struct {
	Doing       string // the present activity, such as a policy's name, or ""
	Done, Total int    // in the experiment's own steps; Total is 0 if unknown
}

// String returns "policy 3/20", without the parts that are unknown.
func (p Progress) String() string {
	switch {
	case p.Total == 0:
		return p.Doing
	case p.Doing == "":
		return fmt.Sprintf("%d/%d", p.Done, p.Total)
	}
	return fmt.Sprintf("%s %d/%d", p.Doing, p.Done, p.Total)
}
