package plan

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/cmd/freshet/table"
	"freshet/schedule/sequence"
)

// sequenceOptions are the flags of schedule with --sequence: an order of visits instead of slots.
type sequenceOptions struct {
	kind, pages string
	access      command.Duration
	cycle       int
	seed        uint64
}

// sequenceKinds are the orders that --sequence knows.
var sequenceKinds = []string{"golden", "balanced", "apart", "randomized"}

// sequenceColumns are the columns of a list of pages.
var sequenceColumns = []string{"url", "rate", "weight"}

// visitsOfRarest is how often, about, the page visited most seldom comes in a cycle.
const visitsOfRarest = 20

func (o *sequenceOptions) flags(f *pflag.FlagSet) {
	o.access = command.Duration(1e9)
	f.StringVar(&o.kind, "sequence", "", "an endless order of visits instead: "+strings.Join(sequenceKinds, ", "))
	f.StringVar(&o.pages, "pages", "", "with --sequence: CSV file of pages, - for standard input: url, rate (changes a day), weight")
	f.Var(&o.access, "access-time", "with --sequence: duration of a visit")
	f.IntVar(&o.cycle, "cycle", 0, fmt.Sprintf("with --sequence: visits of a cycle (default: enough for %d of the rarest page; for golden the next Fibonacci number)", visitsOfRarest))
	f.Uint64Var(&o.seed, "seed", 1, "with --sequence randomized: seed of the draws")
}

// A sequenceOutcome is what the command says of an order, as JSON or in words.
type sequenceOutcome struct {
	Sequence   string  `json:"sequence"`
	Pages      int     `json:"pages"`
	Visits     int     `json:"visits"`
	Cost       float64 `json:"cost_per_s"`        // Σ weight × share of time out of date
	LowerBound float64 `json:"lower_bound_per_s"` // no order costs less
	DurationS  float64 `json:"duration_s"`        // of computing it, without reading and writing
}

// run makes an order and writes it to out, a URL a line.
func (o *sequenceOptions) run(cmd *cobra.Command, out string, asJSON bool) error {
	switch {
	case !slices.Contains(sequenceKinds, o.kind):
		return command.Usage(fmt.Errorf("--sequence %q: want one of %s", o.kind, strings.Join(sequenceKinds, ", ")))
	case o.pages == "":
		return command.Usage(errors.New("--sequence needs --pages"))
	case o.access <= 0:
		return command.Usage(fmt.Errorf("--access-time %s: want more than 0", &o.access))
	case o.cycle < 0 || o.cycle > sequence.MaxCycle:
		return command.Usage(fmt.Errorf("--cycle %d: want 0 to %d", o.cycle, sequence.MaxCycle))
	}
	urls, pages, err := o.read(cmd.InOrStdin())
	if err != nil {
		return err
	}
	watch := clock.Real()
	start := watch.Now()
	order, cost, bound, err := o.order(pages)
	if err != nil {
		return command.Usage(err)
	}
	outcome := sequenceOutcome{o.kind, len(urls), len(order), cost, bound, watch.Now().Sub(start).Seconds()}
	words := command.Beside(cmd, out)
	if out != "" {
		err := command.WriteTo(out, cmd.OutOrStdout(), func(w io.Writer) error { return writeOrder(w, urls, order) })
		if err != nil {
			return err
		}
	}
	if asJSON {
		return json.NewEncoder(words).Encode(outcome)
	}
	_, err = fmt.Fprintf(words, "%d visits of %d pages, cost %.6g a second (at least %.6g)\n", outcome.Visits, outcome.Pages, cost, bound)
	return err
}

// read reads the pages; rates a day become rates a second. Without a column of weights a page weighs as
// much as it changes.
func (o *sequenceOptions) read(in io.Reader) ([]string, *sequence.Pages, error) {
	t, err := table.Open(o.pages, in, sequenceColumns, "url", "rate")
	if err != nil {
		return nil, nil, err
	}
	defer t.Close()
	var urls []string
	var rates, weights []float64
	seen := map[string]int{}
	for {
		more, err := t.Next()
		if err != nil {
			return nil, nil, err
		}
		if !more {
			break
		}
		url := strings.Clone(t.Text("url"))
		if err := t.Unique("url", url, seen); err != nil {
			return nil, nil, err
		}
		rate, err := t.Number("rate", math.NaN(), 0, math.MaxFloat64)
		if err != nil {
			return nil, nil, err
		}
		if !(rate > 0) {
			return nil, nil, t.Fault("rate", "rate %q: want a number above 0: a page that never changes needs no visit", t.Text("rate"))
		}
		weight, err := t.Number("weight", 1, 0, math.MaxFloat64)
		if err != nil {
			return nil, nil, err
		}
		urls, rates, weights = append(urls, url), append(rates, rate/daySeconds), append(weights, weight)
	}
	if !t.Has("weight") {
		weights = nil
	}
	pages, err := sequence.New(rates, weights, sequence.Constant(time.Duration(o.access).Seconds()))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", t.File, err)
	}
	return urls, pages, nil
}

// order returns a cycle, its cost, and the cost that no order beats.
func (o *sequenceOptions) order(pages *sequence.Pages) (order []int32, cost, bound float64, err error) {
	frequencies, bound := pages.Bound()
	length := o.cycle
	if length == 0 || o.kind == "golden" {
		least := float64(o.cycle)
		if o.cycle == 0 {
			least = visitsOfRarest / slices.MinFunc(frequencies, rarer)
		}
		if length, err = sequence.Fibonacci(min(least, 1e6+float64(pages.Len()))); err != nil {
			return nil, 0, 0, err
		}
	}
	if o.kind == "randomized" {
		drawn, cost := pages.Randomized()
		for page := range sequence.Draw(drawn, rand.New(rand.NewPCG(o.seed, 0))) {
			if order = append(order, page); len(order) >= length {
				return order, cost, bound, nil
			}
		}
	}
	counts, err := sequence.Counts(frequencies, length)
	if err != nil {
		return nil, 0, 0, err
	}
	switch o.kind {
	case "golden":
		if order, err = sequence.Golden(counts); err != nil {
			return nil, 0, 0, err
		}
	case "balanced":
		order = sequence.Balanced(counts)
	case "apart":
		order = sequence.Apart(counts)
	}
	return order, pages.Cost(order), bound, nil
}

// rarer orders frequencies, those of pages that are never visited last.
func rarer(a, b float64) int {
	switch {
	case a == b:
		return 0
	case b == 0 || a != 0 && a < b:
		return -1
	}
	return 1
}

func writeOrder(w io.Writer, urls []string, order []int32) error {
	buffered := bufio.NewWriter(w)
	out := csv.NewWriter(buffered)
	fault := out.Write([]string{"url"})
	for _, page := range order {
		fault = errors.Join(fault, out.Write(urls[page:page+1]))
	}
	out.Flush()
	return errors.Join(fault, out.Error(), buffered.Flush())
}
