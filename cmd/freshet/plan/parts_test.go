package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/allocate"
)

// TestPlanOfParts plans three tables whose owners agree on one threshold. The plans equal the plan of the union, to
// the last crawl.
func TestPlanOfParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 6))
	processes := []string{"poisson", "weibull", "gamma"}
	const header = "url,weight,process,rate,shape,age_s\n"
	rows := make([]string, 3)
	for i := range 3000 {
		rows[i/1000] += fmt.Sprintf("http://h%d.test/%d,%g,%s,%g,%g,%d\n", i%7, i, 1+float64(rng.IntN(4)),
			processes[i%3], 0.01*float64(1+rng.IntN(400)), 0.5+rng.Float64(), rng.IntN(90000))
	}
	o := planOptions{policy: "optimal", algorithm: "multiplier", convention: "age", budget: 2500, pages: "-"}
	o.interval = daySeconds * 1e9
	read := func(rows string) *planPages {
		p, err := o.read(strings.NewReader(header + rows))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	want, _, err := o.allocate(read(strings.Join(rows, "")))
	if err != nil {
		t.Fatal(err)
	}
	var parts []*planPages
	for _, some := range rows {
		parts = append(parts, read(some))
	}
	rounds := 0
	shares, _, err := allocate.Agree(int64(o.budget), func(threshold float64) (all []allocate.Demand, _ error) {
		rounds++
		for _, p := range parts {
			all = append(all, allocate.DemandOf(p, threshold))
		}
		return all, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []int32
	for i, p := range parts {
		o.budget = int(shares[i])
		crawls, _, err := o.allocate(p)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, crawls...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("crawls (-of the union +of the parts):\n%s", diff)
	}
	t.Logf("shares %v after %d rounds", shares, rounds)
}
