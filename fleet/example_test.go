package fleet_test

import (
	"fmt"

	"freshet/fleet"
)

// A fetcher brings a page in 10 seconds, processing one takes a second, and 5 have room.
func Example() {
	model := fleet.Model{ArrivalRate: 0.1, ServiceRate: 1, Queue: 5, Gamma: 1.4}
	fixed, err := model.Best(fleet.Exponential())
	if err != nil {
		panic(err)
	}
	fmt.Printf("fixed: %d fetchers, cost %.3f: empty %.1f%% of the time, %.3f pages lost a second\n",
		fixed.Fetchers, fixed.Cost, 100*fixed.Starvation, fixed.Loss)

	switched, err := model.Dynamic(0)
	if err != nil {
		panic(err)
	}
	fmt.Printf("switched: %d to %d fetchers, cost %.3f: empty %.1f%% of the time, %.3f pages lost a second\n",
		switched.MinActive, switched.MaxActive, switched.Cost, 100*switched.Starvation, switched.Loss)
	fmt.Printf("with 10 active, one goes on if no more than %d page waits\n", switched.Arrival[10-1])
	// Output:
	// fixed: 10 fetchers, cost 0.400: empty 16.7% of the time, 0.167 pages lost a second
	// switched: 4 to 15 fetchers, cost 0.259: empty 11.6% of the time, 0.097 pages lost a second
	// with 10 active, one goes on if no more than 1 page waits
}
