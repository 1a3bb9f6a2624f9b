package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// sample is an experiment that fills every part of a result.
func sample() Experiment {
	return Experiment{
		Name: "sample", Summary: "Fill every part of a result",
		Prepare: func(flags *pflag.FlagSet) Runner {
			zeal := flags.Float64("zeal", 1.5, "zeal, 1/s")
			flags.Int("page-count", 3, "pages")
			flags.String("order", "length", "ordering")
			flags.Bool("fast", true, "whether")
			flags.Duration("delay", 15*time.Second, "w")
			flags.Uint64("seed", math.MaxUint64, "seed")
			return func(_ context.Context, out *Result) error {
				if !(*zeal > 0) {
					return &ParameterError{"zeal", *zeal, "more than 0"}
				}
				out.Parameter("pages_found", 7)
				out.Row("policy", "b", "cost", Interval{0.25, 0.01}, "curve", []float64{1, math.NaN()})
				out.Row("policy", "a", "crawls", 12, "cost", math.Inf(1))
				out.Compare(Comparison{What: "cost", Source: "Table I", Published: new(0.2), Measured: 0.25, Tolerance: 0.1})
				out.Compare(Comparison{What: "cost", Source: "closed form", Reference: new(0.1), Measured: 0.25, Tolerance: 0.1})
				out.Claim("b is cheap", false, "%d of %d", 1, 2)
				out.Plot(Plot{Title: "p", X: Axis{Label: "x"}, Y: Axis{Label: "y", Log: true},
					Series: []Series{{Name: "s", X: Numbers{1, 2}, Y: Numbers{1, math.NaN()}}}})
				out.Progress("b", 1, 2)
				return nil
			}
		},
	}
}

const sampleJSON = `{"experiment":"sample",` +
	`"parameters":{"zeal":1.5,"page_count":3,"order":"length","fast":true,"delay":"15s","seed":18446744073709551615,"pages_found":7},` +
	`"rows":[{"policy":"b","cost":0.25,"cost_ci":0.01,"curve":[1,null]},{"policy":"a","crawls":12,"cost":null}],` +
	`"comparisons":[{"what":"cost","source":"Table I","published":0.2,"measured":0.25,"tolerance":0.1},` +
	`{"what":"cost","source":"closed form","reference":0.1,"measured":0.25,"tolerance":0.1}],` +
	`"claims":[{"claim":"b is cheap","verdict":"denied","evidence":"1 of 2"}],` +
	`"plots":[{"title":"p","x":{"label":"x"},"y":{"label":"y","log":true},"series":[{"name":"s","x":[1,2],"y":[1,null]}]}]}`

func TestResult(t *testing.T) {
	var heard []Progress
	result, err := sample().New().Run(t.Context(), func(p Progress) { heard = append(heard, p) })
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleJSON, string(text)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	var read Result
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(read)
	if err != nil || string(again) != sampleJSON {
		t.Errorf("read and written again: %s, error %v", again, err)
	}
	var table bytes.Buffer
	if err := result.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"policy  cost  cost_ci  curve  crawls",
		"b       0.25     0.01  1 NaN       –",
		"a       +Inf        –      –      12",
		"",
		"compared  published  reference  measured  difference  allowed  verdict  source",
		"cost            0.2          –      0.25       +0.05      0.1  agrees   Table I",
		"cost              –        0.1      0.25       +0.15      0.1  differs  closed form",
		"",
		"claim       verdict  evidence",
		"b is cheap  denied   1 of 2",
		"",
	}, "\n")
	if diff := cmp.Diff(want, table.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if len(heard) != 1 || heard[0].String() != "b 1/2" {
		t.Errorf("progress %v", heard)
	}
}

func TestParameterError(t *testing.T) {
	trial := sample().New()
	if err := trial.Flags().Parse([]string{"--zeal=-1"}); err != nil {
		t.Fatal(err)
	}
	_, err := trial.Run(t.Context(), nil)
	if wrong, ok := errors.AsType[*ParameterError](err); !ok || wrong.Error() != "--zeal -1: want more than 0" {
		t.Errorf("error %v", err)
	}
}

func TestWrongRows(t *testing.T) {
	for name, pairs := range map[string][]any{
		"odd": {"a"}, "no name": {1, 2}, "empty": {"", 1}, "capital": {"meanAge", 1}, "dash": {"mean-age", 1},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("Row(%v): want a panic", pairs)
				}
			}()
			new(Result).Row(pairs...)
		})
	}
}

// TestEstimate holds Student's intervals to the textbook's t, 2.776445 and 4.604095 for five samples,
// and to hold the mean as often as they say.
func TestEstimate(t *testing.T) {
	samples := []float64{2, 4, 4, 5, 10}
	deviation := math.Sqrt(9.0 / 5)
	for _, test := range []struct{ confidence, t float64 }{{0.95, 2.7764451}, {0.99, 4.6040949}} {
		got := Estimate(samples, test.confidence)
		if got.Mean != 5 || math.Abs(got.Half-test.t*deviation) > 1e-6 {
			t.Errorf("Estimate(%v): %v, want 5 ± %v", test.confidence, got, test.t*deviation)
		}
	}
	if one := Estimate([]float64{3}, 0.95); one.Mean != 3 || !math.IsInf(one.Half, 1) || !one.Holds(7) {
		t.Errorf("of one sample: %v", one)
	}
	held := 0
	const trials = 4000
	_, err := Repeat(t.Context(), new(Result), trials, 5, func(rng *rand.Rand) ([]float64, error) {
		var runs []float64
		for range 6 {
			runs = append(runs, rng.NormFloat64())
		}
		if Estimate(runs, 0.9).Holds(0) {
			held++
		}
		return nil, nil
	})
	// Four standard deviations of a binomial share.
	if share := float64(held) / trials; err != nil || math.Abs(share-0.9) > 4*math.Sqrt(0.09/trials) {
		t.Errorf("held in %v of all trials, want 0.9; error %v", share, err)
	}
}

func TestRepeat(t *testing.T) {
	draw := func(rng *rand.Rand) ([]float64, error) { return []float64{rng.Float64(), 1}, nil }
	one, err := Repeat(t.Context(), new(Result), 3, 9, draw)
	if err != nil {
		t.Fatal(err)
	}
	two, _ := Repeat(t.Context(), new(Result), 3, 9, draw)
	if diff := cmp.Diff(one, two); diff != "" || one[0][0] == one[0][1] {
		t.Errorf("runs %v, again (-one +two):\n%s", one, diff)
	}
	failure := errors.New("no such web")
	if _, err := Repeat(t.Context(), new(Result), 3, 9, func(*rand.Rand) ([]float64, error) { return nil, failure }); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Repeat(ended, new(Result), 3, 9, draw); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestPlots(t *testing.T) {
	good := Series{Name: "good", X: Numbers{1, 10, 100}, Y: Numbers{0, 2, math.NaN()}, Error: Numbers{1, math.Inf(1), 1}}
	for name, test := range map[string]struct {
		plot  Plot
		fault string
	}{
		"plain":      {plot: Plot{Title: "T", Series: []Series{good, {Name: "marks", X: Numbers{3}, Y: Numbers{4}, Points: true}}}},
		"log":        {plot: Plot{X: Axis{Label: "pages", Log: true}, Y: Axis{Label: "s", Log: true}, Series: []Series{good}}},
		"one point":  {plot: Plot{X: Axis{Label: "pages", Log: true}, Series: []Series{{Name: "p", X: Numbers{5}, Y: Numbers{1}}}}},
		"names":      {plot: Plot{X: Axis{Names: []string{"a", "b"}}, Series: []Series{{Name: "p", X: Numbers{0, 1}, Y: Numbers{2, 3}, Points: true}}}},
		"empty":      {plot: Plot{Title: "T", X: Axis{Label: "pages", Log: true}}},
		"all absent": {plot: Plot{Y: Axis{Label: "s", Log: true}, Series: []Series{{Name: "p", X: Numbers{1}, Y: Numbers{-1}}}}},
		"uneven":     {plot: Plot{Series: []Series{{Name: "p", X: Numbers{1}}}}, fault: `series "p": 1 x, 0 y`},
	} {
		t.Run(name, func(t *testing.T) {
			picture, err := test.plot.SVG()
			switch {
			case test.fault == "" && (err != nil || !bytes.Contains(picture, []byte("</svg>"))):
				t.Errorf("%d bytes, error %v", len(picture), err)
			case test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)):
				t.Errorf("error %v, want %s", err, test.fault)
			}
		})
	}
}

// A parameter that a run says again takes the place of the one that was asked for: JSON keys are unique.
func TestParameterReplaces(t *testing.T) {
	r := Result{Parameters: Row{{"budget", 0}, {"seed", 1}}}
	r.Parameter("budget", 91.5)
	r.Parameter("pages", 7)
	if diff := cmp.Diff(Row{{"seed", 1}, {"budget", 91.5}, {"pages", 7}}, r.Parameters); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
}
