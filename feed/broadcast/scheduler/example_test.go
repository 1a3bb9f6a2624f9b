package scheduler_test

import (
	"fmt"

	"freshet/feed/broadcast/scheduler"
)

// Two clients want two pages that both change all the time (Lam and Garcia-Molina 2001, section 2.3). A server that
// always sends a keeps three quarters fresh.
func Example() {
	demand := scheduler.NewDemand(scheduler.NewLifetime(scheduler.Objective{}), scheduler.Options{})
	a := demand.AddChunk(scheduler.Chunk{Pages: 1, Bytes: 20_000}, 0)
	b := demand.AddChunk(scheduler.Chunk{Pages: 1, Bytes: 20_000}, 0)
	demand.Join(scheduler.Client{}, []scheduler.Want{{Chunk: a}, {Chunk: b}}, 0)
	demand.Join(scheduler.Client{}, []scheduler.Want{{Chunk: a}}, 0)

	demand.Change(a, 0, 10)
	demand.Change(b, 0, 10)
	chunk, _ := demand.Pick(11)
	demand.Sent(chunk, 12)
	r := demand.Read(13)
	fmt.Printf("sent %d: fresh over clients %.2f, over data %.2f; age %.2f s, %.2f s",
		chunk, r.FreshnessOverClients, r.FreshnessOverData, r.AgeOverClients, r.AgeOverData)
	// Output: sent 0: fresh over clients 0.75, over data 0.67; age 0.75 s, 1.00 s
}
