package weights_test

import (
	"fmt"

	"freshet/weights"
)

func Example() {
	log := new(weights.Log)
	for range 100 {
		log.Query()
		log.Add(weights.Sighting{Page: 0, Slot: weights.Slot{Page: 1, Position: 1}, Clicked: true, State: weights.Stale, Answer: weights.Wrong})
		log.Add(weights.Sighting{Page: 1, Slot: weights.Slot{Page: 1, Position: 2}, State: weights.Fresh})
	}
	e := log.Estimate(2)
	fmt.Printf("%.3f %.3f, a new page %.3f\n", e.Weight(0), e.Weight(1), e.New())
	fmt.Printf("%.0f embarrassment a query\n", log.Rate())
	// Output:
	// 0.980 0.019, a new page 0.498
	// 1 embarrassment a query
}
