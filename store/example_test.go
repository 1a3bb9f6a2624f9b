package store_test

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/weburl"
)

// A page is discovered, fetched without an answer, and waits in its site's due queue.
func Example() {
	s, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	if err != nil {
		fmt.Println(err)
		return
	}
	u, err := weburl.Parse("http://example.org/")
	if err != nil {
		fmt.Println(err)
		return
	}
	moves, err := s.Apply(&store.Discovered{Partition: u.Partition(s.Partitions()), New: []store.NewPage{{URL: u, Seed: true}}})
	fmt.Println(moves[0].From, "to", moves[0].To, err)

	moves, err = s.CommitPages([]store.Fetch{{Record: &store.Fetched{URL: u, Outcome: store.OutcomeFailed, Reason: "connect: refused", RetryAt: 1}}})
	fmt.Println(moves[0].From, "to", moves[0].To, err)

	page, _, err := s.PageOf(u)
	fmt.Println(page.State, page.Reason, err)
	fmt.Println(s.Close())
	// Output:
	// none to new <nil>
	// new to due <nil>
	// unreached connect: refused <nil>
	// <nil>
}
