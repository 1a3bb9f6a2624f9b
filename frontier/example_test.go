package frontier_test

import (
	"fmt"
	"time"

	"freshet/frontier"
	"freshet/weburl"
)

// The loop asks for pages, and moves its clock on if there is nothing to do yet.
func Example() {
	queues := &frontier.MemoryQueues{}
	f, err := frontier.New(frontier.Options{Delay: 15 * time.Second}, queues)
	if err != nil {
		panic(err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start
	site := weburl.Site("https://example.org")
	f.RobotsDone(site, now.Add(24*time.Hour), 0, now)
	for i, path := range []string{"/", "/about"} {
		u, _ := weburl.Parse(string(site) + path)
		e := frontier.Entry{Key: frontier.Key{Arrival: uint64(i + 1)}, Fingerprint: u.Fingerprint()}
		queues.Add(site, frontier.KindNew, e)
		f.Discovered(site, []frontier.Entry{e}, now)
	}
	for {
		page, wake, ok := f.Next(now)
		switch {
		case ok:
			fmt.Println(now.Sub(start), page.Site, page.Key.Arrival)
			now = now.Add(time.Second) // the fetch
			f.Done(page, frontier.Answer{End: now, Took: time.Second}, now)
			queues.Remove(page.Site, page.Kind, page.Key)
			f.Committed(page)
		case wake.IsZero():
			fmt.Println(now.Sub(start), "done")
			return
		default:
			now = wake
		}
	}
	// Output:
	// 0s https://example.org 1
	// 16s https://example.org 2
	// 17s done
}
