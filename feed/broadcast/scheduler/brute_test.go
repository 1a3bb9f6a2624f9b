package scheduler_test

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"freshet/feed/broadcast/scheduler"
	"freshet/feed/broadcast/scheduler/schedulertest"
)

// A naive demand: all that happened, kept page by page and client by client, and every figure computed
// from nothing by its definition.
type naive struct {
	options scheduler.Options
	chunks  []scheduler.Chunk
	clients map[int]*naiveClient
	mean    []float64 // RxC's estimates
	last    []float64
	added   []float64     // by chunk
	seen    []map[int]int // by chunk and page: changes
	delays  []float64
	gaveUp  []float64
	history *schedulertest.History
}

type naiveClient struct {
	scheduler.Client
	joined, busy float64
	paused, slow bool
	copies       map[int]*naiveCopy
}

type naiveCopy struct {
	taken float64
	since map[int]float64 // of the pages that are missing
	waits []float64       // by how many pages were missing: how long until one more is
}

// miss notes that a page has been missing since a time, by the changes counted so far.
func (n *naive) miss(copy *naiveCopy, i, page int, since, now float64) {
	copy.waits = append(copy.waits, n.known(i, now)/n.fresh(copy, i))
	copy.since[page] = since
}

// known is for how long changes were counted.
func (n *naive) known(i int, until float64) float64 {
	return n.options.Interval + max(0, until-n.added[i])
}

// fresh returns Σ(1 + changes seen) of the pages that a copy has.
func (n *naive) fresh(copy *naiveCopy, i int) (sum float64) {
	for page := range n.chunks[i].Pages {
		if _, missing := copy.since[page]; !missing {
			sum += 1 + float64(n.seen[i][page])
		}
	}
	return sum
}

func (n *naive) weight(i int) float64 { return or1(n.chunks[i].Weight) }

func or1(weight float64) float64 {
	if weight == 0 {
		return 1
	}
	return weight
}

// pages is N of a client.
func (n *naive) pages(c *naiveClient) (pages float64) {
	for i := range c.copies {
		pages += n.weight(i) * float64(n.chunks[i].Pages)
	}
	return pages
}

func (n *naive) requests(i int) (requests float64) {
	for _, c := range n.clients {
		if copy := c.copies[i]; copy != nil && !c.paused {
			requests += or1(c.Weight) * n.weight(i) * float64(len(copy.since))
		}
	}
	return requests
}

// cost is what sending a chunk takes, and size what each receiver gets.
func (n *naive) cost(i int) float64 { return n.size(i) * n.copies(i) }

// copies is how often a chunk leaves when it is sent.
func (n *naive) copies(i int) float64 {
	receivers := 0
	for _, c := range n.clients {
		if copy := c.copies[i]; copy != nil && !c.paused && len(copy.since) > 0 {
			receivers++
		}
	}
	if n.options.Copies {
		return float64(max(1, receivers))
	}
	return 1
}

func (n *naive) size(i int) float64 {
	chunk := n.chunks[i]
	cost := chunk.Bytes
	for page, bytes := range chunk.Sizes {
		for _, c := range n.clients {
			if copy := c.copies[i]; copy != nil && !c.paused {
				if _, missing := copy.since[page]; missing {
					cost += float64(bytes)
					break
				}
			}
		}
	}
	return cost
}

func outstanding(c *naiveClient) (chunks int) {
	for _, copy := range c.copies {
		if len(copy.since) > 0 {
			chunks++
		}
	}
	return chunks
}

// smallest is Q of a chunk.
func (n *naive) smallest(i int) float64 {
	q := math.Inf(1)
	for _, c := range n.clients {
		if copy := c.copies[i]; copy != nil && !c.paused && len(copy.since) > 0 {
			q = min(q, float64(outstanding(c)))
		}
	}
	return q
}

func (n *naive) oldest(i int) float64 {
	oldest := math.Inf(1)
	for _, c := range n.clients {
		if copy := c.copies[i]; copy != nil && !c.paused {
			for _, since := range copy.since {
				oldest = min(oldest, since)
			}
		}
	}
	return oldest
}

// index is the lifetime index, times what sending the chunk costs.
func (n *naive) index(o scheduler.Objective, i int, now float64) (index float64) {
	for _, c := range n.clients {
		copy := c.copies[i]
		if copy == nil || c.paused || len(copy.since) == 0 {
			continue
		}
		worth := or1(c.Weight)
		switch {
		case c.Downloader:
			pace := o.Patience
			if o.Age {
				pace = o.Patience * o.Patience / 2
			}
			if o.OverData {
				pace *= n.pages(c)
			}
			index += worth * pace / float64(outstanding(c)) / n.cost(i)
			continue
		case !o.OverData:
			worth /= n.pages(c)
		}
		if o.Age {
			index += worth * n.weight(i) * squares(copy, now) / n.cost(i)
		} else {
			index += worth * n.weight(i) * n.lives(copy, i) / n.avoidable(copy, i)
		}
	}
	return index * n.cost(i)
}

// squares returns the age cost of the missing pages.
func squares(copy *naiveCopy, now float64) (sum float64) {
	for _, since := range copy.since {
		sum += ((now-copy.taken)*(now-copy.taken) - (since-copy.taken)*(since-copy.taken)) / 2
	}
	return sum
}

// lives is Σ_{j<d} (d-j)·t_j.
func (n *naive) lives(copy *naiveCopy, i int) (sum float64) {
	for j, wait := range copy.waits {
		sum += float64(len(copy.waits)-j) * wait
	}
	return sum
}

// avoidable is the cost of sending a chunk now that waiting for more changes would save.
func (n *naive) avoidable(copy *naiveCopy, i int) float64 {
	waited, latest := 0.0, math.Inf(-1)
	for _, wait := range copy.waits {
		waited += wait
	}
	for _, since := range copy.since {
		latest = max(latest, since)
	}
	fixed := n.chunks[i].Bytes * n.copies(i)
	return fixed + (n.cost(i)-fixed)*(1-waited*n.fresh(copy, i)/n.known(i, latest)/float64(len(copy.since)))
}

func (n *naive) Change(i, page int, now float64) {
	wanted := false
	for _, c := range n.clients {
		copy := c.copies[i]
		if copy == nil || c.Downloader && len(copy.since) == 0 {
			continue
		}
		wanted = true
		if _, missing := copy.since[page]; !missing {
			n.miss(copy, i, page, now, now)
		}
	}
	n.seen[i][page]++
	if seen := n.seen[i][page]; seen&(seen+1) == 0 {
		n.reckon(i, page, now)
	}
	if wanted && now != n.last[i] {
		if math.IsInf(n.mean[i], 1) {
			n.mean[i] = now - n.last[i]
		} else {
			n.mean[i] = n.mean[i]*2/3 + (now-n.last[i])/3
		}
		n.last[i] = now
	}
}

// reckon computes again how long the copies that lack a page have been incomplete.
func (n *naive) reckon(i, page int, now float64) {
	for _, c := range n.clients {
		copy := c.copies[i]
		if copy == nil || c.Downloader {
			continue
		}
		if _, missing := copy.since[page]; !missing {
			continue
		}
		went := slices.SortedFunc(maps.Keys(copy.since), func(a, b int) int {
			return cmp.Or(cmp.Compare(copy.since[a], copy.since[b]), a-b)
		})
		since := copy.since
		copy.since, copy.waits = map[int]float64{}, nil
		for _, page := range went {
			n.miss(copy, i, page, since[page], now)
		}
	}
}

func (n *naive) Changes(pages []scheduler.Page, now float64) {
	for _, p := range pages {
		n.Change(int(p.Chunk), int(p.Page), now)
	}
}

func (n *naive) Join(client scheduler.Client, wants []scheduler.Want, now float64) int {
	k := n.history.Joined
	n.clients[k] = &naiveClient{Client: client, joined: now, copies: map[int]*naiveCopy{}}
	n.Extend(k, wants, now)
	if client.Downloader && len(wants) == 0 {
		n.delays = append(n.delays, 0)
		delete(n.clients, k)
	}
	return k
}

func (n *naive) Extend(k int, wants []scheduler.Want, now float64) {
	c := n.clients[k]
	for _, want := range wants {
		copy := &naiveCopy{taken: now, since: map[int]float64{}}
		c.copies[want.Chunk] = copy
		if !c.Downloader && want.Since != nil {
			copy.taken = want.Taken
		} else if !c.Downloader && want.Missing != 0 {
			copy.taken = now - n.options.Interval
		}
		for page := range n.chunks[want.Chunk].Pages {
			if c.Downloader {
				copy.since[page] = now
			} else if want.Missing>>page&1 == 1 && want.Since != nil {
				n.miss(copy, want.Chunk, page, want.Since[page], want.Since[page])
			} else if want.Missing>>page&1 == 1 {
				n.miss(copy, want.Chunk, page, now, now)
			}
		}
		n.settle(c, want.Chunk)
	}
}

// settle gives a copy that lacks nothing the time of the others like it: they have proved as good.
func (n *naive) settle(c *naiveClient, i int) {
	copy := c.copies[i]
	if c.Downloader || len(copy.since) > 0 {
		return
	}
	for _, other := range n.clients {
		like := other.copies[i]
		if other != c && like != nil && !other.Downloader && other.paused == c.paused && len(like.since) == 0 {
			copy.taken = like.taken
		}
	}
}

// turn pauses or resumes a client.
func (n *naive) turn(c *naiveClient, paused bool) {
	c.slow = false
	if c.paused != paused {
		c.paused = paused
		for i := range c.copies {
			n.settle(c, i)
		}
	}
}

func (n *naive) Sent(i int, now float64) {
	bytes := n.size(i)
	news := false
	var slow []*naiveClient
	for _, c := range n.clients {
		if copy := c.copies[i]; copy != nil && !c.paused && !c.Downloader {
			news = news || len(copy.since) > 0
		}
	}
	for k, c := range n.clients {
		copy := c.copies[i]
		if copy == nil || c.paused {
			continue
		}
		received := len(copy.since) > 0
		copy.since, copy.waits = map[int]float64{}, nil
		if news {
			copy.taken = now
		}
		switch {
		case received && c.Downloader && outstanding(c) == 0:
			n.delays = append(n.delays, now-c.joined)
			delete(n.clients, k)
		case received && c.Rate > 0:
			c.busy = max(c.busy, now) + bytes/c.Rate
			if c.busy-now > n.options.Backlog {
				slow = append(slow, c)
			}
		}
	}
	for _, c := range slow {
		n.turn(c, true)
		c.slow = true
	}
}

func (n *naive) Pick(now float64) (int, bool) {
	for _, c := range n.clients {
		if c.slow && c.busy <= now {
			n.turn(c, false)
		}
	}
	return 0, false
}

func (n *naive) Pause(k int, now float64)  { n.turn(n.clients[k], true) }
func (n *naive) Resume(k int, now float64) { n.turn(n.clients[k], false) }

func (n *naive) AddChunk(c scheduler.Chunk, now float64) int {
	n.added = append(n.added, now)
	n.seen = append(n.seen, map[int]int{})
	n.chunks = append(n.chunks, c)
	n.mean = append(n.mean, math.Inf(1))
	n.last = append(n.last, 0)
	return len(n.chunks) - 1
}

func (n *naive) Resize(i, page int, bytes int32, now float64) {
	if sizes := n.chunks[i].Sizes; sizes != nil {
		sizes[page] = bytes
	}
}

func (n *naive) Leave(k int, now float64) {
	if c := n.clients[k]; c.Downloader {
		n.gaveUp = append(n.gaveUp, now-c.joined)
	}
	delete(n.clients, k)
}

// read computes the metrics.
func (n *naive) read(now float64) (r scheduler.Reading) {
	var weight, pages float64
	for _, c := range n.clients {
		if c.Downloader {
			continue
		}
		var stale, old float64
		for i, copy := range c.copies {
			for _, since := range copy.since {
				stale += n.weight(i)
				old += n.weight(i) * (now - since)
			}
		}
		w, all := or1(c.Weight), n.pages(c)
		weight += w
		pages += w * all
		if all > 0 {
			r.FreshnessOverClients -= w * stale / all
			r.AgeOverClients += w * old / all
			r.FreshnessOverData -= w * stale
			r.AgeOverData += w * old
		}
	}
	if weight > 0 {
		r.FreshnessOverClients /= weight
		r.AgeOverClients /= weight
	}
	if pages > 0 {
		r.FreshnessOverData /= pages
		r.AgeOverData /= pages
	}
	r.FreshnessOverClients++
	r.FreshnessOverData++
	return r
}

// near allows for the rounding of sums kept over a history of a hundred steps.
func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}

// TestBruteForce runs random histories. It compares the picks of every scheduler with the largest key by definition,
// and all results of a Demand with their definitions.
func TestBruteForce(t *testing.T) {
	clients := scheduler.Objective{Patience: 50}
	ages := scheduler.Objective{Patience: 50, Age: true}
	data := scheduler.Objective{Patience: 50, OverData: true}
	both := scheduler.Objective{Patience: 50, OverData: true, Age: true}
	tests := []struct {
		name string
		new  func() scheduler.Scheduler
		key  func(n *naive, i int, now float64) float64
	}{
		{"popularity", func() scheduler.Scheduler { return scheduler.NewPopularity() },
			func(n *naive, i int, now float64) float64 { return n.requests(i) }},
		{"rq", func() scheduler.Scheduler { return scheduler.NewRQ() },
			func(n *naive, i int, now float64) float64 { return n.requests(i) / n.smallest(i) }},
		{"rxw", func() scheduler.Scheduler { return scheduler.NewRxW() },
			func(n *naive, i int, now float64) float64 { return n.requests(i) * (now - n.oldest(i)) }},
		{"rxc", func() scheduler.Scheduler { return scheduler.NewRxC() },
			func(n *naive, i int, now float64) float64 {
				if math.IsInf(n.mean[i], 1) {
					return n.requests(i) * 1e12 // before all that have changed
				}
				return n.requests(i) * n.mean[i]
			}},
		{"rxc-ideal", func() scheduler.Scheduler {
			return scheduler.NewIdealRxC(func(i int) float64 { return float64(i + 1) })
		}, func(n *naive, i int, now float64) float64 { return n.requests(i) * float64(i+1) }},
		{"lifetime", func() scheduler.Scheduler { return scheduler.NewLifetime(clients) },
			func(n *naive, i int, now float64) float64 { return n.index(clients, i, now) }},
		{"lifetime, age", func() scheduler.Scheduler { return scheduler.NewLifetime(ages) },
			func(n *naive, i int, now float64) float64 { return n.index(ages, i, now) }},
		{"lifetime, over data", func() scheduler.Scheduler { return scheduler.NewLifetime(data) },
			func(n *naive, i int, now float64) float64 { return n.index(data, i, now) }},
		{"lifetime, age, over data", func() scheduler.Scheduler { return scheduler.NewLifetime(both) },
			func(n *naive, i int, now float64) float64 { return n.index(both, i, now) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				h := schedulertest.NewHistory(t, test.new())
				n := &naive{options: h.Options, clients: map[int]*naiveClient{}, history: h}
				h.Each = func(again func(schedulertest.Facility)) {
					again(n)
					n.compare(t, h.Demand, h.Now, test.key)
				}
				h.Run(t)
			})
		})
	}
}

// compare holds a demand to the naive one.
func (n *naive) compare(t *rapid.T, d *scheduler.Demand, now float64, key func(n *naive, i int, now float64) float64) {
	n.Pick(now)
	picked, ok := d.Pick(now)
	picked = max(picked, 0)
	best := math.Inf(-1)
	for i := range n.chunks {
		requests := n.requests(i)
		if got := d.Requests(i); !near(got, requests) {
			t.Fatalf("requests for %d: %v, want %v", i, got, requests)
		}
		if got := d.Cost(i); got != n.cost(i) {
			t.Fatalf("cost of %d: %v, want %v", i, got, n.cost(i))
		}
		if got := d.Oldest(i); !near(got, n.oldest(i)) {
			t.Fatalf("oldest of %d: %v, want %v", i, got, n.oldest(i))
		}
		if requests > 0 {
			best = max(best, key(n, i, now)/n.cost(i))
		}
	}
	if ok != !math.IsInf(best, -1) {
		t.Fatalf("pick at %v: %v, %v; the best key is %v", now, picked, ok, best)
	}
	// Lifetime keeps its sums as float32.
	if own := key(n, picked, now) / n.cost(picked); ok && !(own >= best-1e-5*max(1, best)) {
		t.Fatalf("pick at %v: %d with key %v; the best is %v", now, picked, own, best)
	}
	n.compareMetrics(t, d, now)
}

func (n *naive) compareMetrics(t *rapid.T, d *scheduler.Demand, now float64) {
	got, want := d.Read(now), n.read(now)
	if !near(got.FreshnessOverClients, want.FreshnessOverClients) || !near(got.FreshnessOverData, want.FreshnessOverData) ||
		!near(got.AgeOverClients, want.AgeOverClients) || !near(got.AgeOverData, want.AgeOverData) {
		t.Fatalf("reading at %v: %+v, want %+v", now, got, want)
	}
	late := 0
	for k, c := range n.clients {
		if got := d.Outstanding(k); got != outstanding(c) {
			t.Fatalf("client %d lacks %d chunks, want %d", k, got, outstanding(c))
		}
		if !c.Downloader && outstanding(c) > 0 {
			late++
		}
	}
	delays := d.Delays(now)
	var served, all float64
	waiting := 0
	for _, delay := range n.delays {
		served += delay
	}
	all = served
	for _, delay := range n.gaveUp {
		all += delay
	}
	for _, c := range n.clients {
		if c.Downloader {
			waiting++
			all += now - c.joined
		}
	}
	if delays.Served != len(n.delays) || delays.Unserved != waiting+len(n.gaveUp) ||
		!near(delays.Mean*float64(len(n.delays)), served) ||
		!near(delays.MeanAll*float64(len(n.delays)+waiting+len(n.gaveUp)), all) {
		t.Fatalf("delays %+v: want %d served in %v, %d unserved, %v in all",
			delays, len(n.delays), served, waiting+len(n.gaveUp), all)
	}
	missing := 0
	for i := range n.chunks {
		for _, c := range n.clients {
			if copy := c.copies[i]; copy != nil && !c.Downloader {
				missing += len(copy.since)
			}
		}
		if bits.OnesCount64(d.Missing(i)) > n.chunks[i].Pages {
			t.Fatalf("chunk %d lacks %b of %d pages", i, d.Missing(i), n.chunks[i].Pages)
		}
	}
	lags, before := d.ItemLag(now), d.ItemLag(now)
	if lags.Total() < missing || lags.Total() != before.Total() {
		t.Fatalf("%d item lags, %d pages are missing", lags.Total(), missing)
	}
	if images := d.ImageLag(now); images.Total() < late {
		t.Fatalf("%d image lags, %d images are out of date", images.Total(), late)
	}
}
