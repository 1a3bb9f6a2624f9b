package growth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/spf13/pflag"

	"freshet/clock"
	"freshet/lab"
	"freshet/weburl"
)

// parameters are the flags.
type parameters struct {
	known  []uint
	urls   int
	drains []uint
	pebble bool
	dir    string
	seed   uint64
}

// Experiment returns the experiment.
func Experiment() lab.Experiment {
	return lab.Experiment{
		Name:       "growth",
		Summary:    "Measure the URL-seen test as the known URLs grow, and a database beside it",
		Reproduces: "no paper: what the URL-seen test promises",
		Quick:      []string{"--known=100000,300000", "--urls=200000"},
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := new(parameters)
			flags.UintSliceVar(&p.known, "known", []uint{1e6, 3e6, 1e7}, "known URLs at which to measure; 100 million take 1 GB of disk, 3 GB with --pebble")
			flags.IntVar(&p.urls, "urls", 4_000_000, "URLs of a stream")
			flags.UintSliceVar(&p.drains, "drains", nil, "numbers of links decided at once to try in the end, beside the default's 65536 or, if that is more, one for each 800 known")
			flags.BoolVar(&p.pebble, "pebble", false, "measure a Pebble database too")
			flags.StringVar(&p.dir, "dir", "", "where to put the sets for the while; default the system's folder for that")
			flags.Uint64Var(&p.seed, "seed", 1, "seed of the streams")
			return p.run
		},
	}
}

func (p *parameters) validate() error {
	switch {
	case len(p.known) == 0 || p.known[0] < recentURLs || !slices.IsSorted(p.known) || len(slices.Compact(slices.Clone(p.known))) < len(p.known):
		return &lab.ParameterError{Name: "known", Value: p.known, Want: fmt.Sprintf("increasing numbers, %d or more", recentURLs)}
	case len(p.drains) > 0 && (slices.Min(p.drains) < pageLinks || slices.Max(p.drains) > maxDrain):
		return &lab.ParameterError{Name: "drains", Value: p.drains, Want: fmt.Sprintf("numbers from %d to %d", pageLinks, maxDrain)}
	case p.urls < recentURLs:
		return &lab.ParameterError{Name: "urls", Value: p.urls, Want: fmt.Sprintf("%d or more", recentURLs)}
	}
	return nil
}

// chunk is how many links are made at a time, before the clock runs; more if two drains need more.
const chunk = 1_000_000

// maxDrain bounds the links that are decided at once: two of these drains' links are in memory as they are made.
const maxDrain = 1 << 22

func (p *parameters) run(ctx context.Context, out *lab.Result) (err error) {
	if err := p.validate(); err != nil {
		return err
	}
	if clock.Processor() == 0 {
		return fmt.Errorf("the processor's time: %w", lab.ErrNoData)
	}
	dir, err := os.MkdirTemp(p.dir, "freshet-growth-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	b := &bench{parameters: p, out: out, folder: dir, chase: pointerChase(), rival: rival{dir: dir}, links: make([]weburl.Link, chunk)}
	out.Parameter("pointer_chase_ns", b.chase)
	b.before = heap()
	if b.freshet, err = openFreshet(dir, defaultBuffer); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.freshet.close()) }()
	for _, known := range p.known {
		if err := b.measure(ctx, uint64(known)); err != nil {
			return err
		}
	}
	if err := b.tryDrains(ctx); err != nil {
		return err
	}
	report(out, b.found)
	return nil
}
