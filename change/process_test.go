package change_test

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"freshet/change"
	"freshet/change/changetest"
)

// must returns a process. It fails the test if the parameters are wrong.
func must[P change.Process](t *testing.T) func(P, error) change.Process {
	return func(p P, err error) change.Process {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

func TestConformance(t *testing.T) {
	weibull := func(shape float64) func(float64) change.Process {
		return func(c float64) change.Process { return must[change.Weibull](t)(change.NewWeibull(c, shape)) }
	}
	pareto := func(shape float64) func(float64) change.Process {
		return func(c float64) change.Process { return must[change.Pareto](t)(change.NewPareto(c, shape)) }
	}
	gamma := func(shape float64) func(float64) change.Process {
		return func(c float64) change.Process { return must[change.Gamma](t)(change.NewGamma(c, shape)) }
	}
	tests := []struct {
		name   string
		scaled func(c float64) change.Process
	}{
		{"poisson", func(c float64) change.Process { return change.Poisson(c) }},
		{"deterministic", func(c float64) change.Process { return change.Deterministic(c) }},
		{"weibull 0.3", weibull(0.3)}, {"weibull 0.8", weibull(0.8)}, {"weibull 1", weibull(1)}, {"weibull 3", weibull(3)}, {"weibull 20", weibull(20)},
		{"pareto 1.001", pareto(1.001)}, {"pareto 1.3", pareto(1.3)}, {"pareto 1.5", pareto(1.5)}, {"pareto 2", pareto(2)}, {"pareto 3", pareto(3)}, {"pareto 60", pareto(60)},
		{"gamma 0.05", gamma(0.05)}, {"gamma 0.5", gamma(0.5)}, {"gamma 1", gamma(1)}, {"gamma 3", gamma(3)}, {"gamma 100", gamma(100)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { changetest.Run(t, test.scaled) })
	}
}

// lines returns the lines of a file in testdata without comments and empty lines.
func lines(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []string
	for scanner := bufio.NewScanner(f); scanner.Scan(); {
		if line := strings.TrimSpace(scanner.Text()); line != "" && line[0] != '#' {
			all = append(all, line)
		}
	}
	return all
}

// numbers parses fields.
func numbers(t *testing.T, fields []string) []float64 {
	t.Helper()
	var all []float64
	for _, field := range fields {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

func TestReferenceStaleness(t *testing.T) {
	for _, line := range lines(t, "staleness.txt") {
		left, right, _ := strings.Cut(line, " = ")
		name, parameters, _ := strings.Cut(left, " ")
		v := numbers(t, strings.Fields(parameters))
		var p change.Process
		switch name {
		case "poisson":
			p = must[change.Poisson](t)(change.NewPoisson(v[0]))
		case "deterministic":
			p = must[change.Deterministic](t)(change.NewDeterministic(v[0]))
		case "weibull":
			rate := math.Pow(v[0], 1/v[1]) / math.Gamma(1+1/v[1])
			p = must[change.Weibull](t)(change.NewWeibull(rate, v[1]))
		case "pareto":
			p = must[change.Pareto](t)(change.NewPareto((v[0]-1)/v[1], v[0]))
		case "gamma":
			p = must[change.Gamma](t)(change.NewGamma(v[1]/v[0], v[0]))
		}
		page := change.Page{Process: p, Interval: 1}
		want := numbers(t, strings.Fields(right))
		for i, x := range []int{0, 1, 4} {
			if got := page.Staleness(x); math.Abs(got-want[i]) > 5.1e-9 { // printed to 8 decimals
				t.Errorf("%s: staleness %.9f with %d crawls, want %.8f", left, got, x, want[i])
			}
		}
	}
}

func TestPrecision(t *testing.T) {
	worst := map[string]float64{}
	for _, line := range lines(t, "precise.txt") {
		fields := strings.Fields(line)
		v := numbers(t, fields[1:])
		var p change.Process
		switch fields[0] {
		case "poisson":
			p = change.Poisson(1)
		case "weibull":
			p = must[change.Weibull](t)(change.NewWeibull(1, v[0]))
		case "pareto":
			p = must[change.Pareto](t)(change.NewPareto(1, v[0]))
		case "gamma":
			p = must[change.Gamma](t)(change.NewGamma(1, v[0]))
		}
		stale, fresh := p.Staleness(v[1])
		// The incomplete gamma functions lose digits with their shape, in a·log x.
		tolerance := 2e-12
		if fields[0] == "gamma" && v[0] > 100 {
			tolerance = 1e-10
		}
		for i, got := range []float64{stale, fresh} {
			relative := math.Abs(got/v[2+i] - 1)
			worst[fields[0]] = math.Max(worst[fields[0]], relative)
			if relative > tolerance && v[2+i] > 1e-3 || relative > 1e-9 {
				t.Errorf("%s: got %.17g, relative error %.1e", line, got, relative)
			}
		}
	}
	t.Logf("largest relative errors: %v", worst)
}

func TestRefused(t *testing.T) {
	second := func(_ any, err error) error { return err }
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"rate 0", second(change.NewPoisson(0)), "rate 0"},
		{"rate NaN", second(change.NewPoisson(math.NaN())), "rate NaN"},
		{"rate infinite", second(change.NewDeterministic(math.Inf(1))), "rate +Inf"},
		{"negative rate", second(change.NewGamma(-1, 2)), "rate -1"},
		{"pareto without a mean", second(change.NewPareto(1, 1)), "no mean"},
		{"pareto below 1", second(change.NewPareto(1, 0.7)), "no mean"},
		{"pareto NaN", second(change.NewPareto(1, math.NaN())), "NaN"},
		{"weibull shape", second(change.NewWeibull(1, 0)), "shape"},
		{"page age", second(change.NewPage(change.Poisson(1), 1, -1)), "age -1"},
		{"page interval", second(change.NewPage(change.Poisson(1), 0, 0)), "interval 0"},
	}
	for _, test := range tests {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) || !strings.HasPrefix(test.err.Error(), "change: ") {
			t.Errorf("%s: %v, want %q", test.name, test.err, test.want)
		}
	}
}

func TestMixture(t *testing.T) {
	changetest.Run(t, func(c float64) change.Process {
		b := change.Shape(6, 0.5)
		if c == 1 {
			return change.NewMixture(&b)
		}
		return rescaled{change.NewMixture(&b), c}
	})
}

// rescaled is a process in another unit of time. It serves processes without a parameter for that.
type rescaled struct {
	change.Process
	c float64
}

func (r rescaled) Rate() float64 { return r.c * r.Process.Rate() }

func (r rescaled) Staleness(length float64) (stale, fresh float64) {
	return r.Process.Staleness(length * r.c)
}

func (r rescaled) Marginal(length float64) float64 { return r.Process.Marginal(length*r.c) / r.c }
