package main

import (
	"freshet/broadcast"
	"freshet/clock"
	"freshet/crawl"
	"freshet/store"
	"freshet/weburl"
)

// feed hands on what a running crawl stores.
type feed struct {
	bell  broadcast.Bell
	clock *clock.Clock
	done  chan struct{} // closed when the crawl ends
}

// newFeed returns the feed of the engine that will be opened with the options, which get its bell.
func newFeed(options *crawl.Options) *feed {
	f := &feed{clock: options.Clock, done: make(chan struct{})}
	if f.clock == nil {
		f.clock = clock.Real()
	}
	options.OnRecord = func(weburl.Partition, uint64, []byte) { f.bell.Ring() }
	return f
}

// changes serves the change log.
func (f *feed) changes(s *store.Store) *broadcast.Changes {
	return &broadcast.Changes{Store: s, Bell: &f.bell, Clock: f.clock, Done: f.done}
}

// stop ends all streams.
func (f *feed) stop() { close(f.done) }
