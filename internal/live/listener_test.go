package live

import (
	"context"
	"sync"
	"time"

	"freshet/feed/broadcast"
	"freshet/feed/mirror"
	"freshet/weburl"
)

// A listener is a mirror that the feed keeps fresh, or fills once.
type listener struct {
	wants map[weburl.Site]bool
	dir   string
	stop  func()

	mu    sync.Mutex
	held  map[weburl.URL]holding
	bytes int64     // of the pages that it took
	done  time.Time // when it had all that it wanted

	timed        bool          // whether what follows counts
	longest, lag time.Duration // from capture to arrival; the sum
	arrivals     int
}

// A holding is a page of a mirror.
type holding struct {
	digest, file string
	truth        int // the version of the web that it shows
}

// listen begins to keep a mirror.
func (l *live) listen(interest broadcast.Interest, once bool) *listener {
	m := &listener{wants: map[weburl.Site]bool{}, dir: l.t.TempDir(), held: map[weburl.URL]holding{}}
	for _, site := range interest.Sites {
		m.wants[weburl.Site(site)] = true
	}
	client, err := mirror.New(mirror.Options{
		Addresses: []string{l.at}, Interest: interest, Dir: m.dir, Once: once, HTTP: l.reach(),
		OnChange: func(c mirror.Change) error { return m.take(l, c) },
	})
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := client.Run(ctx); err != nil {
			l.t.Error(err)
		}
		m.mu.Lock()
		m.done = l.clock.Now()
		m.mu.Unlock()
		if err := client.Close(); err != nil {
			l.t.Error(err)
		}
	}()
	m.stop = func() {
		cancel()
		<-ended
	}
	return m
}

// take notes a change of a page.
func (m *listener) take(l *live, c mirror.Change) error {
	u, err := weburl.Parse(c.URL)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.File == "" {
		delete(m.held, u)
		return nil
	}
	if m.timed {
		lag := l.clock.Now().Sub(*c.At)
		m.longest, m.lag, m.arrivals = max(m.longest, lag), m.lag+lag, m.arrivals+1
	}
	truth, _ := l.web.Truth(u, *c.At)
	m.held[u] = holding{c.Digest, c.File, truth}
	m.bytes += c.Bytes
	return nil
}

// delays returns the mean wait of downloaders who came at the same time. For the unserved ones it counts until now.
func delays(all []*listener, arrived, now time.Time) (mean time.Duration, unserved int) {
	for _, m := range all {
		m.mu.Lock()
		until := m.done
		m.mu.Unlock()
		if until.IsZero() {
			until = now
			unserved++
		}
		mean += until.Sub(arrived) / time.Duration(len(all))
	}
	return mean, unserved
}
