package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"freshet/clock"
	"freshet/crawl"
	"freshet/feed/broadcast"
	"freshet/feed/broadcast/multicast"
	"freshet/feed/broadcast/scheduler"
	"freshet/store"
	"freshet/weburl"
)

// feedSettings are what an operator says of the feed.
type feedSettings struct {
	objective, over string
	rate            byteCount
	group, on       string // of the multicast, and its interface
	hooks           hookURLs
	secretFile      string // of the hooks
}

func (s *feedSettings) validate() error {
	if s.group != "" && s.rate == 0 {
		return errors.New("--feed-multicast wants --feed-rate too: datagrams go out at a pace")
	}
	return nil
}

func validGroup(text string) error {
	if text == "" {
		return nil
	}
	_, err := multicast.ParseGroup(text)
	return err
}

// feed hands on what a running crawl stores.
type feed struct {
	settings feedSettings
	dir      string // of the data
	crawl    string // its name there
	bell     broadcast.Bell
	clock    *clock.Clock
	logger   *slog.Logger

	allowPrivate bool // of the addresses of webhooks

	ctx     context.Context // of all streams
	stop    context.CancelFunc
	running sync.WaitGroup
	server  atomic.Pointer[broadcast.Server]   // nil before the first client asks
	told    atomic.Pointer[broadcast.Webhooks] // nil if there are none
}

// newFeed returns the feed of the engine that will be opened with the options, which get its bell.
func newFeed(settings feedSettings, options *crawl.Options) *feed {
	f := &feed{settings: settings, dir: options.Dir, crawl: options.Crawl, clock: options.Clock, logger: options.Logger, allowPrivate: options.AllowPrivate}
	f.ctx, f.stop = context.WithCancel(context.Background())
	if f.clock == nil {
		f.clock = clock.Real()
	}
	options.OnRecord = func(weburl.Partition, uint64, []byte) { f.bell.Ring() }
	return f
}

// end ends all streams and waits for what reads the store.
func (f *feed) end() {
	f.stop()
	f.running.Wait()
}

// totals returns what the feed has done; ok is false if it does not run.
func (f *feed) totals() (t broadcast.Totals, ok bool) {
	server := f.server.Load()
	if server == nil {
		return t, false
	}
	t, err := server.Totals(f.ctx)
	return t, err == nil
}

// changes serves the change log.
func (f *feed) changes(s *store.Store) *broadcast.Changes {
	return &broadcast.Changes{Store: s, Bell: &f.bell, Clock: f.clock, Done: f.ctx.Done()}
}

// serve adds the feed, under /feed/, and the lists of ResourceSync to what a running crawl serves. Nothing
// is read for them before the first client asks.
func (f *feed) serve(s *store.Store, next http.Handler) http.Handler {
	start := sync.OnceValues(func() (http.Handler, error) { return f.start(s) })
	lists := (&broadcast.ResourceSync{Store: s, Clock: f.clock}).Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/resourcesync/") || r.URL.Path == "/.well-known/resourcesync":
			lists.ServeHTTP(w, r)
			return
		case !strings.HasPrefix(r.URL.Path, "/feed/"):
			next.ServeHTTP(w, r)
			return
		}
		handler, err := start()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

func (f *feed) start(s *store.Store) (http.Handler, error) {
	if f.ctx.Err() != nil {
		return nil, errors.New("the crawl is ending")
	}
	transport, hangUp, err := f.transport()
	if err != nil {
		return nil, err
	}
	server, err := broadcast.NewServer(broadcast.Options{
		Store: s, Bell: &f.bell, Clock: f.clock, Logger: f.logger, Rate: float64(f.settings.rate), Transport: transport,
		Objective: scheduler.Objective{Age: f.settings.objective == "age", OverData: f.settings.over == "data"},
	})
	if err != nil {
		hangUp()
		return nil, err
	}
	f.server.Store(server)
	f.running.Go(func() {
		defer hangUp()
		if err := server.Run(f.ctx); err != nil {
			f.logger.Error("the feed has stopped", "error", err)
		}
	})
	return server.Handler(), nil
}

// transport returns what carries the feed's chunks: a multicast group, if the operator named one.
func (f *feed) transport() (t broadcast.Transport, hangUp func(), err error) {
	if f.settings.group == "" {
		return broadcast.Streams{}, func() {}, nil
	}
	group, err := multicast.ParseGroup(f.settings.group)
	if err != nil {
		return nil, nil, err
	}
	conn, err := multicast.Dial(group, f.settings.on)
	if err != nil {
		return nil, nil, err
	}
	sender := multicast.NewSender(conn, float64(f.settings.rate), f.clock)
	return broadcast.NewGroup(group, sender, uint64(f.clock.Now().UnixNano())), func() {
		sender.Close()
		conn.Close()
	}, nil
}
