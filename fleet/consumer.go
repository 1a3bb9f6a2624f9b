package fleet

import (
	"maps"
	"slices"
)

// A Consumer is work on what the crawl has stored, on the same processors, such as a full-text index. It has a queue of
// its own behind the crawl's: the records that it has not read.
//
// To index a page takes longer than to crawl it. A crawl that waited for that queue would be as slow as the index. So
// the crawl comes first: a consumer has the processors while workers starve, and otherwise one part in 25 of a
// processor's time. So its queue always moves.
type Consumer struct {
	Name  string
	Queue uint64 // records that wait
}

// consumer is a Consumer and its present rest.
type consumer struct {
	Consumer
	worked  float64 // seconds, before the rest
	began   float64 // the rest
	starved float64 // seconds for which a worker had starved before the rest
}

// longestRest is the longest rest of a consumer, as a multiple of the time that it worked before.
const longestRest = 24

// Worked reports that a consumer has worked for some seconds until now, and how many records wait for it. It begins a
// rest.
func (c *Controller) Worked(name string, seconds float64, queue uint64, now float64) {
	c.advance(now)
	c.consumers[name] = consumer{Consumer{name, queue}, seconds, c.at, c.starved()}
}

// Rest returns for how many seconds a consumer must rest before it asks again, or 0 if it may go on. It rests for as
// long as it has worked. After that it goes on once workers have starved for half of its rest, and in any case after
// longestRest.
func (c *Controller) Rest(name string, now float64) (seconds float64) {
	c.advance(now)
	one := c.consumers[name]
	rested := c.at - one.began
	switch {
	case rested < one.worked:
		return one.worked - rested
	case rested >= longestRest*one.worked, c.starved()-one.starved >= rested/2:
		return 0
	}
	return one.worked
}

// starved returns the seconds since the beginning in which a worker starved.
func (c *Controller) starved() float64 { return c.total.starved + c.window.starved }

// sorted returns the consumers by name.
func (c *Controller) sorted() (all []Consumer) {
	for _, name := range slices.Sorted(maps.Keys(c.consumers)) {
		all = append(all, c.consumers[name].Consumer)
	}
	return all
}
