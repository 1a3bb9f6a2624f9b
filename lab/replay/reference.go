package replay

import "freshet/lab"

// A reference is a measurement by a prototype of this experiment, on the histories of 29,452 pages: freshness with
// equal weights, by budget.
type reference struct {
	policy    string
	freshness [4]float64 // at the shares; 0 if not measured
	tolerance float64    // the largest difference that agrees
}

// shares are the budgets of the references, in crawls a day per living page.
var shares = [4]float64{0.002, 0.01, 0.05, 0.2}

// references returns the values.
func references() []reference {
	return []reference{
		{"uniform", [4]float64{0.4845, 0.7658, 0.9282, 0.9785}, 0.001},
		{"fixed", [4]float64{0.4845, 0.7660, 0.9242, 0.9255}, 0.003},
		{"nutch", [4]float64{0.4779, 0.7479, 0.8536, 0.8633}, 0.01},
		{"stormcrawler", [4]float64{0.4847, 0.7657, 0.9335, 0.9780}, 0.01},
		{"proportional", [4]float64{0.4261, 0.7118, 0.9131, 0.9773}, 0.01},
		{"lambdacrawl", [4]float64{0.4854, 0.7736, 0.9371, 0.9825}, 0.01},
		{"bayes", [4]float64{0.4925, 0.7726, 0.9364}, 0.01},
		{"folder-shock", [4]float64{0.5037, 0.8046, 0.9559, 0.9880}, 0.02},
		{"oracle", [4]float64{0.5192, 0.7975, 0.9467, 0.9856}, 0.003},
		{"hindsight", [4]float64{0.7804, 0.9845, 0.9987, 0.9997}, 0.001},
	}
}

// compare compares the rows with the references of a budget.
func compare(out *lab.Result, share float64) {
	for at, s := range shares {
		if s != share {
			continue
		}
		for _, row := range out.Rows {
			for _, r := range references() {
				if measured, ok := row.Get("freshness").(float64); ok && row.Get("policy") == r.policy && row.Get("site") == nil && r.freshness[at] > 0 {
					out.Compare(lab.Comparison{What: r.policy + ", freshness", Source: "prototype", Reference: new(r.freshness[at]),
						Measured: measured, Tolerance: r.tolerance})
				}
			}
		}
	}
}
