package sequence_test

import (
	"fmt"

	"freshet/schedule/sequence"
)

// Three pages change 4, 2 and 1 times an hour; a visit takes a minute.
func Example() {
	pages, err := sequence.New([]float64{4. / 3600, 2. / 3600, 1. / 3600}, nil, sequence.Constant(60))
	if err != nil {
		fmt.Println(err)
		return
	}
	frequencies, bound := pages.Bound()
	counts, err := sequence.Counts(frequencies, 7)
	if err != nil {
		fmt.Println(err)
		return
	}
	cycle := sequence.Balanced(counts)
	fmt.Println(cycle, counts)
	fmt.Printf("%.2f of the 7 changes an hour meet a copy that is stale already, %.2f at least\n", pages.Cost(cycle)*3600, bound*3600)
	// Output:
	// [0 0 1 0 1 0 2] [4 2 1]
	// 0.42 of the 7 changes an hour meet a copy that is stale already, 0.39 at least
}
