package replay

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"freshet/lab"
	"freshet/refresh"
)

// HeldOut returns the experiment that picks the default's settings on some sites and scores them on the others.
// Settings that are scored on the same histories look better than they are.
func HeldOut() lab.Experiment {
	return lab.Experiment{
		Name:    "replay-held-out",
		Summary: "Pick the refresh settings on half of the recorded sites, and score them on the other half, site by site",
		Prepare: func(flags *pflag.FlagSet) lab.Runner {
			p := &parameters{window: 2191.5, score: 730.5, accelerate: 1, protocol: "simple", removals: "told", policy: "uniform,oracle", bySite: true}
			flags.StringVar(&p.histories, "histories", "", "file of histories: CSV of site,page,alive,end,times, may end in .gz")
			flags.Float64Var(&p.share, "budget-share", 0.01, "crawls a day per living page")
			flags.Uint64Var(&p.seed, "seed", 1, "seed of the order of pages")
			flags.IntVar(&p.seeds, "seeds", 2, "number of seeds, from --seed on; the rows are means over them")
			return p.heldOut
		},
	}
}

// settings returns the candidates: all combinations of the least size of a folder to learn from, whether the folders
// above it count, and the weight of age.
func settings() []contender {
	var all []contender
	for _, folder := range []int{10, 100} {
		for _, nested := range []bool{false, true} {
			for _, age := range []float64{0, 0.0003} {
				name := fmt.Sprintf("folders of %d, age %v", folder, age)
				if nested {
					name += ", nested"
				}
				o := refresh.Default()
				o.Folder, o.Nested, o.Age = folder, nested, age
				all = append(all, contender{name: name, blind: true, make: index(o)})
			}
		}
	}
	return all
}

// heldOut divides the sites, sorted by name, into every other one and the rest. It picks the settings for each half
// on the other half.
func (p *parameters) heldOut(ctx context.Context, out *lab.Result) error {
	known, err := p.check()
	if err != nil {
		return err
	}
	world, err := p.world()
	if err != nil {
		return err
	}
	var halves [2]*half
	for i := range halves {
		h := &half{world: world.Only(everyOther(world.Sites(), i))}
		if len(h.world.Lives) == 0 {
			return fmt.Errorf("replay: %s: one site: want two or more, to pick on some and score on others", p.histories)
		}
		h.candidates = append(known, settings()...)
		h.rules = Rules{Rate: p.share * h.world.MeanLiving() / day}
		if h.trials, err = p.trials(ctx, out, h.world, h.candidates, h.rules); err != nil {
			return err
		}
		h.best = p.best(h, len(known))
		halves[i] = h
	}
	for i, h := range halves {
		other := halves[1-i]
		for _, row := range []struct {
			name string
			at   int
		}{{"uniform", 0}, {"oracle", 1}, {"picked on the other half", other.best}, {"picked on this half", h.best}} {
			policy := row.name
			if row.at >= len(known) {
				policy += ": " + h.candidates[row.at].name
			}
			p.rows(out, h.world, policy, h.trials[row.at*p.seeds:(row.at+1)*p.seeds])
		}
	}
	return nil
}

// A half is half of the sites, with the score of every candidate on them.
type half struct {
	world      *World
	rules      Rules
	candidates []contender
	trials     []trial
	best       int // of the candidates
}

// best returns the candidate with the highest freshness, among those numbered from and above.
func (p *parameters) best(h *half, from int) int {
	at, highest := from, 0.0
	for i := from; i < len(h.candidates); i++ {
		sum := 0.0
		for _, t := range h.trials[i*p.seeds : (i+1)*p.seeds] {
			var all Score
			for _, s := range t.equal.Pages {
				all.Add(s, 1)
			}
			sum += all.Freshness()
		}
		if sum > highest {
			at, highest = i, sum
		}
	}
	return at
}

// everyOther returns the names at odd indices, or those at even ones.
func everyOther(names []string, odd int) []string {
	var some []string
	for i, name := range slices.Sorted(slices.Values(names)) {
		if i%2 == odd {
			some = append(some, name)
		}
	}
	return some
}
