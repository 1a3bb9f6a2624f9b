package discovery

import (
	"fmt"
	"math/rand/v2"
	"time"

	"freshet/change"
	"freshet/fleet"
)

// Processing is the processing of a fetched page before its links are known: a queue of K places, and workers.
// While the queue is full, a fetcher waits with its page. A fleet.Controller decides how many fetchers may be
// active, as in a live crawl. Failed pages and robots.txt are not processed.
type Processing struct {
	Workers int           // pages processed at the same time
	Queue   int           // K: places, including pages in processing; more than Workers
	Time    time.Duration // mean of a page
	// Variation is the squared coefficient of variation of a page's time, of a gamma law; 0 stands for 1, exponential.
	Variation float64
	Rule      fleet.Rule // for the number of fetchers
	Gamma     float64    // γ; 0 is a hundred times as many pages a second as are processed
}

// Fleet is statistics of the queue between fetching and processing.
type Fleet struct {
	Starved float64 // s in which a worker had no page
	Waited  float64 // s that fetchers waited for a place in the queue, together
	Changes int64   // of the number of fetchers allowed
}

// processor is the queue and the workers. A nil processor takes no time and holds back no fetcher.
type processor struct {
	Processing
	control *fleet.Controller
	random  *rand.Rand
	law     interface{ Gap(*rand.Rand) float64 } // of a page's time, in seconds
	// pages that wait for a worker; fetchers may hold the last of them
	queue []Fetch
	busy  int // workers
}

func newProcessor(o Options) (*processor, error) {
	if o.Processing == nil {
		return nil, nil
	}
	p := *o.Processing
	if p.Time <= 0 {
		return nil, fmt.Errorf("discovery: processing takes %v: want more than 0s", p.Time)
	}
	if p.Variation == 0 {
		p.Variation = 1
	}
	law, err := change.NewGamma(1/p.Time.Seconds(), 1/p.Variation)
	if err != nil {
		return nil, fmt.Errorf("discovery: processing of squared variation %v: %w", p.Variation, err)
	}
	control, err := fleet.NewController(fleet.Control{
		Rule: p.Rule, Most: max(1, o.Connections), Queue: p.Queue, Workers: p.Workers, Gamma: p.Gamma,
	}, 0)
	return &processor{Processing: p, control: control, random: rand.New(rand.NewPCG(o.Seed, 2)), law: law}, err
}

// open reports whether one more fetch may begin.
func (p *processor) open() bool { return p == nil || p.control.Open() }

// started counts a fetch that begins.
func (p *processor) started(now float64) {
	if p != nil {
		p.control.Started(now)
	}
}

// ended frees a fetcher.
func (c *crawl) ended(now float64) {
	c.free++
	if c.processor != nil {
		c.processor.control.Ended(now)
	}
}

// queued adds a fetched page to the queue. Its fetcher is free if the queue has a place for the page.
func (c *crawl) queued(now float64, f Fetch) {
	p := c.processor
	if p.control.Fetched(now) {
		c.free++
	}
	p.queue = append(p.queue, f)
	c.employ(now)
}

// employ gives idle workers waiting pages.
func (c *crawl) employ(now float64) {
	p := c.processor
	for p.busy < p.Workers && len(p.queue) > 0 {
		p.busy++
		took := p.law.Gap(p.random)
		c.events.Push(now+took, happening{kind: worked, fetch: p.queue[0]})
		p.queue = p.queue[1:]
	}
}

// leave takes a page out of the queue. A page that a fetcher holds may get its place.
func (c *crawl) leave(now float64) {
	p := c.processor
	if p.control.Processed(now) {
		c.free++
	}
	p.busy--
	c.employ(now)
}

// measure makes the controller read its counters, as a live crawl does once a second.
func (c *crawl) measure(now float64) error {
	control := c.processor.control
	if model, wanted := control.Measure(now); wanted {
		plan, err := model.Plan(control.Most)
		if err != nil {
			return err
		}
		control.Adopt(plan)
	}
	if c.events.Len() > 0 { // the crawl continues
		c.events.Push(now+1, happening{kind: measured})
	}
	return nil
}

func (p *processor) result(now float64) (f Fleet) {
	if p != nil {
		r := p.control.Read(now)
		f = Fleet{Starved: r.Starved, Waited: r.Waited, Changes: r.Changes}
	}
	return f
}
