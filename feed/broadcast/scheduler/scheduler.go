package scheduler

import (
	"fmt"
	"strings"
)

// A Scheduler decides which chunk is sent next. It is attached to one Demand, which reports changes to it. Every
// implementation passes schedulertest.Run.
//
// A scheduler that must know more implements PairFollower or ChangeFollower too. Schedulers are not for concurrent use.
// Times are in seconds and never decrease.
type Scheduler interface {
	// Attach ties the scheduler to an empty demand. It is called first, and once.
	Attach(d *Demand)
	// Touch reports that the chunk's cost has changed, or what the ready clients lack of it.
	Touch(chunk int, now float64)
	// Pick returns the chunk to send at now. ok is false if the ready clients lack nothing. Two picks without a
	// touch in between return the same.
	Pick(now float64) (chunk int, ok bool)
}

// A PairFollower also gets which ready client lacks which chunk, before the touch of the chunk. slot is the chunk's
// place among those of the client; it does not change while the client stays.
type PairFollower interface {
	Need(client, slot, chunk int, now float64)
	Drop(client, slot, chunk int, now float64)
}

// A ChangeFollower also gets every change in a wanted chunk, even if all clients lack the page already. It gets it
// before the change makes any client lack the page.
type ChangeFollower interface {
	Change(chunk, page int, now float64)
}

// An Objective is the operator's goal for the feed. The zero value is freshness over clients.
type Objective struct {
	Age      bool // minimise the age of pages, not the number of stale ones
	OverData bool // every page of every client counts the same, not every client
	// Patience weighs downloaders against subscribers. A page that a downloader waits for goes first if, all else
	// equal, a subscriber's page loses at most this much fresh life, in seconds. 0 is DefaultPatience.
	Patience float64
}

// DefaultPatience is 20 days. With it every downloader of the mixes in the notes is served, and soon.
const DefaultPatience = 20 * 86400

// A Kind is a scheduler by its name.
type Kind struct {
	Name string
	// New returns a new scheduler. Only Lifetime uses the objective.
	New func(Objective) Scheduler
}

// Default is the name of a feed's default scheduler.
const Default = "lifetime"

// Names returns the names of Kinds.
func Names() []string {
	var names []string
	for _, kind := range Kinds() {
		names = append(names, kind.Name)
	}
	return names
}

// Kinds returns the schedulers that a server can run, in the paper's order, ours last. NewIdealRxC is not among
// them: only an experiment knows the true rates.
func Kinds() []Kind {
	return []Kind{
		{"circular", func(Objective) Scheduler { return NewCircular(nil) }},
		{"popularity", func(Objective) Scheduler { return NewPopularity() }},
		{"rq", func(Objective) Scheduler { return NewRQ() }},
		{"rxw", func(Objective) Scheduler { return NewRxW() }},
		{"rxc", func(Objective) Scheduler { return NewRxC() }},
		{"lifetime", func(o Objective) Scheduler { return NewLifetime(o) }},
	}
}

// New returns the scheduler of that name, one of Kinds.
func New(name string, objective Objective) (Scheduler, error) {
	for _, kind := range Kinds() {
		if kind.Name == name {
			return kind.New(objective), nil
		}
	}
	return nil, fmt.Errorf("scheduler: %q is none of %s", name, strings.Join(Names(), ", "))
}
