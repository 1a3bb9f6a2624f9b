package growth

import (
	"path/filepath"
	"slices"
	"time"

	"freshet/clock"
	"freshet/seen"
	"freshet/weburl"
)

// freshet is the live URL-seen test.
type freshet struct {
	test     *seen.Test
	clock    *clock.Clock
	verdicts []seen.Verdict
	waiting  []time.Time // when the pages that wait for a Drain were offered
	delays   []time.Duration
}

// pageLinks is how many links a page carries.
const pageLinks = 50

// cacheEntries is the cache of a crawl of 64 fetchers.
func cacheEntries() int { return seen.CacheEntries(64) }

// defaultBuffer selects the default number of links that may wait in a live test.
const defaultBuffer = 0

// drainLinks returns how many links a live test decides at once by default, with that many known URLs.
func drainLinks(known uint64) int { return seen.Options{}.Room(int64(known)) / 2 }

// longestWait is how long links may wait to be decided together: longer than it takes to offer as many.
const longestWait = 10 * time.Second

// openFreshet opens the test in a folder, with room for buffer waiting links. It decides half as many at once.
func openFreshet(folder string, buffer int) (*freshet, error) {
	test, err := seen.Open(filepath.Join(folder, "freshet"), seen.Options{CacheEntries: cacheEntries(), BufferLinks: buffer})
	return &freshet{test: test, clock: clock.Real()}, err
}

// close closes the test, if it is open.
func (f *freshet) close() error {
	test := f.test
	f.test = nil
	if test == nil {
		return nil
	}
	return test.Close()
}

// ask offers links as a crawler does: page by page, with a drain whenever it is due. At the end it waits until all
// writes are merged.
func (f *freshet) ask(links []weburl.Link) error {
	for page := range slices.Chunk(links, pageLinks) {
		now := f.clock.Now()
		if f.test.Due(now, longestWait) {
			if err := f.drain(); err != nil {
				return err
			}
		}
		if err := f.test.Offer(seen.Mark{}, page, now); err != nil {
			return err
		}
		f.waiting = append(f.waiting, now)
	}
	if err := f.drain(); err != nil {
		return err
	}
	return f.test.Settle()
}

func (f *freshet) drain() (err error) {
	if f.verdicts, _, err = f.test.Drain(f.verdicts[:0]); err != nil {
		return err
	}
	now := f.clock.Now()
	for _, offered := range f.waiting {
		f.delays = append(f.delays, now.Sub(offered))
	}
	f.waiting = f.waiting[:0]
	return f.test.Keep()
}

// delay returns the 99th percentile of how long an answer has taken since the last call, in seconds.
func (f *freshet) delay() float64 {
	slices.Sort(f.delays)
	at := f.delays[len(f.delays)*99/100]
	f.delays = nil
	return at.Seconds()
}
