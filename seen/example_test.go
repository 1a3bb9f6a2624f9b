package seen_test

import (
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/seen"
	"freshet/weburl"
)

// Two pages link to three URLs. Each URL is new once.
func Example() {
	link := func(raw string) weburl.Link {
		u, err := weburl.Parse(raw)
		if err != nil {
			panic(err)
		}
		return weburl.Link{URL: u, Fingerprint: u.Fingerprint(), Depth: 1}
	}
	a, b, c := link("https://alder.test/a"), link("https://alder.test/b"), link("https://birch.test/")
	now := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

	test, err := seen.Open("seen", seen.Options{FS: vfs.NewMem()})
	if err != nil {
		panic(err)
	}
	defer test.Close()
	step := func(mark seen.Mark, links ...weburl.Link) {
		if err := test.Offer(mark, links, now); err != nil {
			panic(err) // seen.ErrFull: Drain first, then offer again
		}
		verdicts, marks, err := test.Drain(nil)
		if err != nil {
			panic(err)
		}
		for _, v := range verdicts {
			fmt.Println("new:", v.Link.URL)
		}
		// Here the caller stores the verdicts. Only then it calls Keep.
		if err := test.Keep(); err != nil {
			panic(err)
		}
		fmt.Println("decided:", marks)
	}
	step(seen.Mark{Partition: 3, Record: 1}, a, b, a)
	step(seen.Mark{Partition: 3, Record: 2}, b, c)
	fmt.Println("known:", test.Known(), "marks:", test.Marks())
	// Output:
	// new: https://alder.test/a
	// new: https://alder.test/b
	// decided: [{3 1}]
	// new: https://birch.test/
	// decided: [{3 2}]
	// known: 3 marks: [{3 2}]
}
