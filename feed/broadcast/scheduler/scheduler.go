package scheduler

import (
	"fmt"
	"strings"
)

// A Scheduler decides what is sent next. It is told of a Demand once, follows what changes in it, and
// answers at any instant which chunk to send. Every implementation passes schedulertest.Run.
//
// A scheduler that must know more implements PairFollower or ChangeFollower too. None is for
// concurrent use. Times are in seconds and never fall.
type Scheduler interface {
	// Attach ties the scheduler to an empty demand, before anything else. A scheduler serves one.
	Attach(d *Demand)
	// Touch says that what the ready clients lack of a chunk, or what it costs, is no longer the same.
	Touch(chunk int, now float64)
	// Pick returns the chunk to send at now, which a ready client lacks; ok is false if they lack
	// nothing. Two picks without a touch between agree.
	Pick(now float64) (chunk int, ok bool)
}

// A PairFollower is told which ready client lacks which chunk. It hears of a pair before the touch of
// the chunk. slot is the chunk's place among those of the client, the same as long as the client stays.
type PairFollower interface {
	Need(client, slot, chunk int, now float64)
	Drop(client, slot, chunk int, now float64)
}

// A ChangeFollower is told of every change in a wanted chunk, also of a page that all lack already. It
// hears of it before anybody lacks the page for it.
type ChangeFollower interface {
	Change(chunk, page int, now float64)
}

// An Objective is what the operator wants of the feed. The zero value is freshness over clients.
type Objective struct {
	Age      bool // keep the clients' pages young, not the most of them fresh
	OverData bool // count every page of every client alike, not every client alike
	// Patience weighs the downloaders in: the fresh life, in seconds, that a subscriber's page may lose
	// so that one which a downloader waits for goes first, all else equal. 0 is DefaultPatience.
	Patience float64
}

// DefaultPatience is 20 days: of the notes' mixes it serves every downloader, soon.
const DefaultPatience = 20 * 86400

// A Kind is a scheduler by its name.
type Kind struct {
	Name string
	// New makes one. Only Lifetime looks at the objective.
	New func(Objective) Scheduler
}

// Default is the name of the scheduler that a feed follows by default.
const Default = "lifetime"

// Names returns the names of Kinds.
func Names() []string {
	var names []string
	for _, kind := range Kinds() {
		names = append(names, kind.Name)
	}
	return names
}

// Kinds returns the schedulers that need to know no more than a server does, in the paper's order, ours
// last. RxC with the true rates, which only an experiment knows, is NewIdealRxC.
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
