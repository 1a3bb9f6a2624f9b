package liunain

import (
	"fmt"
	"math"

	"freshet/fleet"
	"freshet/lab"
)

// loads draws Figures 1.2 to 1.4. The paper prints no numbers for them. For Figure 1.2 it says only that 1/λ = 0.6.
// With μ = 1 this leaves just 1 or 2 fetchers at most γ, so loads draws λ = 0.01 instead.
func loads(out *lab.Result) error {
	number := lab.Plot{Title: "Figure 1.2: the best fixed number, λ = 0.01, μ = 1",
		X: lab.Axis{Label: "γ", Log: true}, Y: lab.Axis{Label: "N(γ,K), fetchers"}}
	for _, k := range []int{5, 20} {
		s := lab.Series{Name: fmt.Sprintf("K = %d", k)}
		for i := -20; i <= 40; i++ {
			gamma := math.Pow(10, float64(i)/20)
			best, err := fleet.Model{ArrivalRate: 0.01, ServiceRate: 1, Queue: k, Gamma: gamma}.Best(fleet.Exponential())
			if err != nil {
				return err
			}
			s.X, s.Y = append(s.X, gamma), append(s.Y, float64(best.Fetchers))
		}
		number.Series = append(number.Series, s)
	}
	out.Plot(number)
	for _, f := range []struct {
		name  string
		gamma float64
	}{{"Figure 1.3", 0.5}, {"Figure 1.4", 2}} {
		plot := lab.Plot{Title: fmt.Sprintf("%s: the best load, γ = %v, μ = 1", f.name, f.gamma),
			X: lab.Axis{Label: "K, places in the queue"}, Y: lab.Axis{Label: "ρ(γ,K)"}}
		s := lab.Series{Name: "ρ(γ,K)", Points: true}
		for k := 2; k <= 50; k++ {
			load, err := fleet.Model{ArrivalRate: 1, ServiceRate: 1, Queue: k, Gamma: f.gamma}.OptimalLoad()
			if err != nil {
				return err
			}
			s.X, s.Y = append(s.X, float64(k)), append(s.Y, load)
		}
		plot.Series = append(plot.Series, s)
		out.Plot(plot)
	}
	return nil
}

// figure is one of Figures 1.5 to 1.7: the optimal policy for N=16, K=5, λ=0.1, μ=1.
type figure struct {
	name  string
	gamma float64
	cost  float64 // as printed
}

func switched() []figure {
	return []figure{{"Figure 1.5", 1, 0.20907}, {"Figure 1.6", 1.4, 0.25924}, {"Figure 1.7", 2, 0.32211}}
}

func (f figure) model() fleet.Model {
	return fleet.Model{ArrivalRate: 0.1, ServiceRate: 1, Queue: 5, Gamma: f.gamma}
}

const figureFetchers = 16

// curves draws a figure's switching curves, and returns the policy.
func (f figure) curves(out *lab.Result) (fleet.Dynamic, error) {
	d, err := f.model().Dynamic(figureFetchers)
	if err != nil {
		return d, err
	}
	out.Compare(lab.Comparison{What: f.name + ": cost", Source: f.name, Published: new(f.cost), Measured: d.Cost, Tolerance: tolerance("0.00000")})
	out.Plot(Curves(fmt.Sprintf("%s: γ = %v, cost %.5f", f.name, f.gamma, d.Cost), d))
	return d, nil
}

// Curves returns a plot of the two switching curves of a policy, as in Figures 1.5 to 1.7.
func Curves(title string, d fleet.Dynamic) lab.Plot {
	departure, arrival := lab.Series{Name: "f₀: after a departure, one more"}, lab.Series{Name: "f₁: after an arrival, go on"}
	for r := range d.Fetchers {
		departure.X, departure.Y = append(departure.X, float64(r)), append(departure.Y, float64(d.Departure[r]))
		arrival.X, arrival.Y = append(arrival.X, float64(r+1)), append(arrival.Y, float64(d.Arrival[r]))
	}
	return lab.Plot{Title: title, X: lab.Axis{Label: "active fetchers"}, Y: lab.Axis{Label: "longest queue at which a fetcher is turned on"},
		Series: []lab.Series{departure, arrival}}
}

// Costs returns a plot of the cost of fixed numbers of fetchers about the best one.
func Costs(m fleet.Model, service fleet.Service, best fleet.Static) (lab.Plot, error) {
	cost, starvation, loss := lab.Series{Name: "cost"}, lab.Series{Name: "γ · starvation"}, lab.Series{Name: "loss"}
	most := 2*best.Fetchers + 4
	for n := 1; n <= most; n += max(1, most/200) {
		s, err := m.Fixed(n, service)
		if err != nil {
			return lab.Plot{}, err
		}
		x := float64(n)
		cost.X, cost.Y = append(cost.X, x), append(cost.Y, s.Cost)
		starvation.X, starvation.Y = append(starvation.X, x), append(starvation.Y, m.Gamma*s.Starvation)
		loss.X, loss.Y = append(loss.X, x), append(loss.Y, s.Loss)
	}
	least := lab.Series{Name: fmt.Sprintf("best: %d", best.Fetchers), Points: true, X: lab.Numbers{float64(best.Fetchers)}, Y: lab.Numbers{best.Cost}}
	return lab.Plot{Title: fmt.Sprintf("λ = %v, μ = %v, K = %d, γ = %v", m.ArrivalRate, m.ServiceRate, m.Queue, m.Gamma),
		X: lab.Axis{Label: "fetchers, always active"}, Y: lab.Axis{Label: "cost, pages a second"},
		Series: []lab.Series{cost, starvation, loss, least}}, nil
}
