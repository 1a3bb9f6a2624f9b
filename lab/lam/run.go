package lam

import (
	"context"
	"math"
	"time"

	"freshet/clock"
	"freshet/feed/broadcast/scheduler"
)

// A facility sends to its clients, one chunk after another.
type facility struct {
	world    *world
	demand   *scheduler.Demand
	underWay int // the chunk that is being sent, or -1
	done     int // the tick in which it has arrived
	sent     int
}

// open returns a facility without clients.
func (w *world) open(s scheduler.Scheduler) *facility {
	d := scheduler.NewDemand(s, scheduler.Options{Copies: w.unicast})
	for _, chunk := range w.chunks {
		d.AddChunk(chunk, 0)
	}
	return &facility{world: w, demand: d, underWay: -1}
}

// join lets a client in at time 0: a subscriber has everything, a downloader nothing.
func (f *facility) join(client int) {
	wants := make([]scheduler.Want, len(f.world.wants[client]))
	for slot, i := range f.world.wants[client] {
		wants[slot].Chunk = int(i)
	}
	f.demand.Join(scheduler.Client{Downloader: f.world.downloader(client)}, wants, 0)
}

// step runs one tick. First the chunk under way arrives, then pages change. Then the scheduler picks the next chunk,
// which is sent in its present versions.
func (f *facility) step(tick int, now float64) {
	if f.underWay >= 0 && tick >= f.done {
		f.demand.Sent(f.underWay, now)
		f.underWay = -1
		f.sent++
	}
	f.demand.Changes(f.world.at(tick), now)
	if f.underWay < 0 {
		if i, ok := f.demand.Pick(now); ok {
			f.underWay, f.done = i, tick+f.ticksFor(i)
		}
	}
}

// An outcome is the result of a run. Freshness and age are defined as in Lam and Garcia-Molina 2001, section 2.3.
type outcome struct {
	end, mean                       scheduler.Reading // over the last day; over the whole run
	boundOverClients, boundOverData float64           // of freshness in the long run; NaN where none holds
	week                            float64           // freshness over clients at exactly 7 days; NaN of shorter runs
	delays                          scheduler.Delays
	items                           scheduler.Histogram // data-item lag
	images                          scheduler.Histogram // client-image lag
	sent                            int                 // decisions
	took                            time.Duration       // for them and the bookkeeping
}

// run runs a scheduler for the whole duration of a world.
func (w *world) run(ctx context.Context, s scheduler.Scheduler) (*outcome, error) {
	f := w.open(s)
	for client := range w.wants {
		f.join(client)
	}
	watch, out := clock.Real(), &outcome{week: math.NaN()}
	begin := watch.Now()
	for tick := range w.ticks() + 1 {
		if tick&1023 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		now := float64(tick) * w.tick()
		f.step(tick, now)
		out.read(w, tick, f.demand.Read(now))
	}
	out.took = watch.Now().Sub(begin)
	out.sent = f.sent
	d := f.demand
	out.delays, out.items, out.images = d.Delays(w.duration), d.ItemLag(w.duration), d.ImageLag(w.duration)
	return out, nil
}

// read adds a reading. Those of ticks 1 to the last make the means.
func (out *outcome) read(w *world, tick int, r scheduler.Reading) {
	if tick == 0 {
		return
	}
	last := w.ticks()
	out.mean = out.mean.Add(r.Scale(1 / float64(last)))
	lastDay := min(last, int(day/w.tick()))
	if tick > last-lastDay {
		out.end = out.end.Add(r.Scale(1 / float64(lastDay)))
	}
	if tick == int(7*day/w.tick()) {
		out.week = r.FreshnessOverClients
	}
}

// scheduler returns a scheduler by its name: one of scheduler.Kinds, or one that exists only in experiments.
func (w *world) scheduler(name string, objective scheduler.Objective) (scheduler.Scheduler, error) {
	if name == "rxc-ideal" {
		return scheduler.NewIdealRxC(func(i int) float64 { return 1 / w.rates[i] }), nil
	}
	return scheduler.New(name, objective)
}
