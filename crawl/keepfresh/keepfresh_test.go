package keepfresh_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"freshet/internal/transcript"
	"freshet/refresh"
)

// TestTranscripts runs testdata/*.txt. "world" begins another world. Counts of visits are those of a run.
func TestTranscripts(t *testing.T) {
	transcript.Run(t, func(t *testing.T) func([]string) string {
		var w *world
		return func(commands []string) string {
			var printed strings.Builder
			for _, line := range commands {
				budget, begins := strings.CutPrefix(line, "world budget=")
				if !begins {
					if text := w.command(line); text != "" {
						printed.WriteString(text + "\n")
					}
					continue
				}
				n, err := strconv.ParseInt(budget, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				w = newWorld(t, n, 15*time.Second, refresh.NewUniform())
			}
			return printed.String()
		}
	})
}

// faults are the faults of sites, as words of the transcripts. They begin at once or later.
var faults = []string{
	"pause", "block", "hours=1:00-2:00", "hours=8:00-18:00", "fail", "fail=24h", "fail=2h", "robots-out", "answer=10m",
}

// neighbourhood makes honest sites, and ill ones if ill is set. The same seed makes the same sites.
func neighbourhood(t *testing.T, seed uint64, budget int64, policy refresh.Policy, ill bool) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(t, budget, 15*time.Second, policy)
	for i := range 2 + r.IntN(6) {
		w.add(fmt.Sprintf("h%d", i), 10+r.IntN(40))
	}
	for i := range 1 + r.IntN(5) {
		pages, fault := 5+r.IntN(60), faults[r.IntN(len(faults))]
		begins, ends := time.Duration(r.Int64N(int64(2*day))), time.Duration(r.Int64N(int64(20*day)))
		if !ill {
			continue
		}
		s := w.add(fmt.Sprintf("ill%d", i), pages)
		on, off := []string{fault}, []string{"well"}
		switch fault {
		case "pause", "block":
			name := fmt.Sprintf("ill%d", i)
			lift := map[string]string{"pause": "resume", "block": "unblock"}[fault]
			w.orders = append(w.orders,
				order{w.start.Add(begins), func() { w.command(fault + " " + name) }},
				order{w.start.Add(begins + ends), func() { w.command(lift + " " + name) }})
			continue
		case "hours=1:00-2:00", "hours=8:00-18:00", "answer=10m":
			w.set(s, on)
			continue
		}
		w.orders = append(w.orders,
			order{w.start.Add(begins), func() { w.set(s, on) }}, order{w.start.Add(begins + ends), func() { w.set(s, off) }})
	}
	slices.SortStableFunc(w.orders, func(a, b order) int { return a.at.Compare(b.at) })
	return w
}

// TestNobodyPaysForAnother holds that ill sites cost the others no more than the requests that they use. A site is ill
// if it is paused, blocked, out of its hours, slow, overloaded or without robots.txt. The test runs again without the
// ill sites, with the budget reduced by their requests. Each other site keeps at least 95 of a hundred visits.
// FRESHET_SEEDS sets the number of random neighbourhoods.
func TestNobodyPaysForAnother(t *testing.T) {
	seeds := 40
	if n, err := strconv.Atoi(os.Getenv("FRESHET_SEEDS")); err == nil {
		seeds = n
	}
	policies := []func() refresh.Policy{
		func() refresh.Policy { return refresh.NewUniform() },
		func() refresh.Policy { return refresh.NewIndex(refresh.Default()) },
	}
	const days = 15
	for seed := range uint64(seeds) {
		policy := policies[seed%uint64(len(policies))]
		budget := []int64{100, 250, 500, 2000}[seed/2%4]
		with := neighbourhood(t, seed, budget, policy(), true)
		with.run(days * day)
		used := 0
		for _, s := range with.sites {
			if strings.Contains(string(s.name), "ill") {
				used += s.asked
			}
		}
		rest := (budget*days - int64(used)) / days
		if rest < 10 {
			continue // nothing is left to compare
		}
		without := neighbourhood(t, seed, rest, policy(), false)
		without.run(days * day)
		for i, s := range without.sites {
			if got := with.sites[i].visits; got < least(float64(s.visits)) {
				t.Errorf("seed %d: %s has %d visits, and %d without the ill sites and the %d requests that they use (budget %d)",
					seed, s.name, got, s.visits, used, budget)
			}
		}
	}
}

// limited is a policy that asks how often a site may be asked.
type limited struct {
	*refresh.Uniform
	of func(site string) float64
}

func (l *limited) Limit(of func(site string) float64) { l.of = of }

// TestLimit holds that the keeper gives a planning policy the frontier's rate for a site.
func TestLimit(t *testing.T) {
	policy := &limited{Uniform: refresh.NewUniform()}
	w := neighbourhood(t, 1, 100, policy, false)
	site := w.sites[0].name
	if got, want := policy.of(string(site)), w.f.Rate(site); got != want || !(got > 0) {
		t.Errorf("%s may be asked %v times a second, the frontier says %v", site, got, want)
	}
}
