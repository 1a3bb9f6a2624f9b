package schedulertest

import (
	"slices"

	"pgregory.net/rapid"

	"freshet/feed/broadcast/scheduler"
)

// A Facility receives the events of a history: a scheduler.Demand, or a model of one.
type Facility interface {
	AddChunk(c scheduler.Chunk, now float64) int
	Join(c scheduler.Client, wants []scheduler.Want, now float64) int
	Extend(k int, wants []scheduler.Want, now float64)
	Leave(k int, now float64)
	Pause(k int, now float64)
	Resume(k int, now float64)
	Change(i, page int, now float64)
	Changes(pages []scheduler.Page, now float64)
	Resize(i, page int, bytes int32, now float64)
	Pick(now float64) (int, bool)
	Sent(i int, now float64)
}

// A History is a Demand with random events.
type History struct {
	Demand  *scheduler.Demand
	Options scheduler.Options
	Now     float64
	Joined  int // the client that joined last
	// Each receives each event after the Demand, so that it can repeat it elsewhere.
	Each func(func(Facility))

	pages   []int
	clients []int // who is in, subscribers and downloaders
	kinds   map[int]scheduler.Client
}

// NewHistory returns an empty history of a demand under that scheduler.
func NewHistory(t *rapid.T, s scheduler.Scheduler) *History {
	h := &History{kinds: map[int]scheduler.Client{}}
	h.Options = scheduler.Options{Interval: 1000, Backlog: 5, Copies: rapid.Bool().Draw(t, "copies")}
	h.Demand = scheduler.NewDemand(s, h.Options)
	return h
}

// Run adds chunks and then makes events happen. The shrinker finds the fewest.
func (h *History) Run(t *rapid.T) {
	for range rapid.IntRange(1, 6).Draw(t, "chunks") {
		h.addChunk(t)
	}
	t.Repeat(map[string]func(*rapid.T){
		"join":    h.join,
		"change":  h.change,
		"changes": h.changes,
		"send":    h.send,
		"leave":   h.leave,
		"pause":   h.pause,
		"extend":  h.extend,
		"resize":  h.resize,
	})
}

func (h *History) happen(f func(d Facility)) {
	f(h.Demand)
	h.Each(f)
}

func (h *History) pass(t *rapid.T) { h.Now += rapid.Float64Range(0, 20).Draw(t, "seconds") }

func (h *History) addChunk(t *rapid.T) {
	chunk := scheduler.Chunk{
		Pages:  rapid.SampledFrom([]int{1, 3, scheduler.MaxPages}).Draw(t, "pages"),
		Weight: rapid.SampledFrom([]float64{0, 0.5, 4}).Draw(t, "page weight"),
		Bytes:  rapid.SampledFrom([]float64{1, 2, 3}).Draw(t, "bytes"),
	}
	if rapid.Bool().Draw(t, "sized") {
		chunk.Sizes = rapid.SliceOfN(rapid.Int32Range(0, 5), chunk.Pages, chunk.Pages).Draw(t, "sizes")
	}
	h.pages = append(h.pages, chunk.Pages)
	now := h.Now
	h.happen(func(d Facility) {
		chunk.Sizes = slices.Clone(chunk.Sizes)
		d.AddChunk(chunk, now)
	})
}

// wants returns random wants of chunks that are not in have.
func (h *History) wants(t *rapid.T, have []scheduler.Want) []scheduler.Want {
	var wants []scheduler.Want
	for i := range h.pages {
		if slices.ContainsFunc(have, func(w scheduler.Want) bool { return w.Chunk == i }) || !rapid.Bool().Draw(t, "wanted") {
			continue
		}
		missing := rapid.SampledFrom([]uint64{0, 0, 1, 6, ^uint64(0)}).Draw(t, "missing")
		want := scheduler.Want{Chunk: i, Missing: missing & (1<<h.pages[i] - 1)}
		if rapid.IntRange(0, 3).Draw(t, "known") == 0 {
			want.Taken = h.Now - rapid.Float64Range(10, 20).Draw(t, "taken")
			want.Since = rapid.SliceOfN(rapid.Float64Range(h.Now-10, h.Now), h.pages[i], h.pages[i]).Draw(t, "since")
		}
		wants = append(wants, want)
	}
	return wants
}

func (h *History) join(t *rapid.T) {
	h.pass(t)
	client := scheduler.Client{
		Weight:     rapid.SampledFrom([]float64{0, 1, 2.5}).Draw(t, "weight"),
		Rate:       rapid.SampledFrom([]float64{0, 0, 0.5}).Draw(t, "rate"),
		Downloader: rapid.Bool().Draw(t, "downloader"),
	}
	wants, now := h.wants(t, nil), h.Now
	h.happen(func(d Facility) { h.Joined = d.Join(client, wants, now) })
	if !client.Downloader || len(wants) > 0 {
		h.clients = append(h.clients, h.Joined)
		h.kinds[h.Joined] = client
	}
}

func (h *History) change(t *rapid.T) {
	h.pass(t)
	now, i := h.Now, rapid.IntRange(0, len(h.pages)-1).Draw(t, "chunk")
	page := rapid.IntRange(0, h.pages[i]-1).Draw(t, "page")
	h.happen(func(d Facility) { d.Change(i, page, now) })
}

func (h *History) changes(t *rapid.T) {
	h.pass(t)
	var pages []scheduler.Page
	for range rapid.IntRange(0, 6).Draw(t, "pages") {
		i := rapid.IntRange(0, len(h.pages)-1).Draw(t, "chunk")
		pages = append(pages, scheduler.Page{Chunk: int32(i), Page: rapid.Int32Range(0, int32(h.pages[i]-1)).Draw(t, "page")})
	}
	now := h.Now
	h.happen(func(d Facility) { d.Changes(pages, now) })
}

func (h *History) send(t *rapid.T) {
	h.pass(t)
	now := h.Now
	var i int
	var ok bool
	h.happen(func(d Facility) { i, ok = d.Pick(now) })
	if !ok || rapid.IntRange(0, 4).Draw(t, "any") == 0 {
		i = rapid.IntRange(0, len(h.pages)-1).Draw(t, "chunk")
	}
	h.happen(func(d Facility) { d.Sent(i, now) })
	h.clients = slices.DeleteFunc(h.clients, func(k int) bool {
		return h.kinds[k].Downloader && h.Demand.Outstanding(k) == 0
	})
}

func (h *History) leave(t *rapid.T) {
	if len(h.clients) == 0 {
		t.Skip("nobody is in")
	}
	h.pass(t)
	at, now := rapid.IntRange(0, len(h.clients)-1).Draw(t, "client"), h.Now
	k := h.clients[at]
	h.clients = slices.Delete(h.clients, at, at+1)
	h.happen(func(d Facility) { d.Leave(k, now) })
}

func (h *History) pause(t *rapid.T) {
	if len(h.clients) == 0 {
		t.Skip("nobody is in")
	}
	h.pass(t)
	k, now := rapid.SampledFrom(h.clients).Draw(t, "client"), h.Now
	if rapid.Bool().Draw(t, "pause") {
		h.happen(func(d Facility) { d.Pause(k, now) })
	} else {
		h.happen(func(d Facility) { d.Resume(k, now) })
	}
}

func (h *History) extend(t *rapid.T) {
	if len(h.clients) == 0 {
		t.Skip("nobody is in")
	}
	k := rapid.SampledFrom(h.clients).Draw(t, "client")
	if h.kinds[k].Downloader {
		t.Skip("a downloader says all it wants when it joins")
	}
	h.pass(t)
	wants, now := h.wants(t, h.Demand.Wants(k)), h.Now
	h.happen(func(d Facility) { d.Extend(k, wants, now) })
}

func (h *History) resize(t *rapid.T) {
	i, now := rapid.IntRange(0, len(h.pages)-1).Draw(t, "chunk"), h.Now
	page := rapid.IntRange(0, h.pages[i]-1).Draw(t, "page")
	bytes := rapid.Int32Range(0, 5).Draw(t, "bytes")
	h.happen(func(d Facility) { d.Resize(i, page, bytes, now) })
}
