package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/dashboard"
	"freshet/feed"
	"freshet/feed/broadcast"
	"freshet/feed/broadcast/multicast"
	"freshet/feed/broadcast/scheduler"
	"freshet/feed/resourcesync"
	"freshet/feed/sink"
	"freshet/feed/webhook"
	"freshet/index"
	"freshet/node"
	"freshet/queries"
	"freshet/store"
	"freshet/weburl"
)

// feedSettings are the settings of the feed.
type feedSettings struct {
	scheduler       string
	objective, over string
	rate            byteCount
	group, on       string // of the multicast, and its interface
	hooks           urlList
	secretFile      string // of the hooks
	index           bool   // keep a full-text index
	sinks           urlList
	uses            string // that the sinks serve
	queries         bool   // record searches and clicks
	queryAge        command.Duration
}

func (s *feedSettings) validate() error {
	if s.group != "" && s.rate == 0 {
		return errors.New("--feed-multicast needs --feed-rate: add the rate at which datagrams are sent")
	}
	if s.queries && !s.index {
		return errors.New("--query-log and --weights clicks need --index: only searches of the index are recorded")
	}
	if s.queryAge < command.Duration(24*time.Hour) {
		return fmt.Errorf("--query-log-age %s: want a day at least", s.queryAge.String())
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

// A publisher delivers the stored pages of a running crawl: by the feed, webhooks, sinks and the index.
type publisher struct {
	settings feedSettings
	dir      string // of the data
	crawl    string // its name there
	bell     feed.Bell
	clock    *clock.Clock
	logger   *slog.Logger

	allowPrivate bool // of the addresses of webhooks

	ctx     context.Context // of all streams
	stop    context.CancelFunc
	streams *feed.Changes
	running sync.WaitGroup
	server  atomic.Pointer[broadcast.Server] // nil before the first client asks
	told    atomic.Pointer[webhook.Sender]   // nil if there are none
	pages   atomic.Pointer[index.Index]      // nil if none is kept
	sinks   atomic.Pointer[[]*sink.Sink]     // nil before they are there
	targets []sink.Target                    // of the sinks
	queries *queries.Log
	unasked sync.Once // logs the first lack of searches
	texts   *corpus   // for questions about texts
}

// newPublisher returns the publisher of the engine that will be opened with the options, with its log of queries. It
// sets the bell in the options.
func newPublisher(settings feedSettings, options *node.Options) *publisher {
	p := &publisher{settings: settings, dir: options.Dir, crawl: options.Crawl, clock: options.Clock, logger: options.Logger, allowPrivate: options.AllowPrivate}
	p.ctx, p.stop = context.WithCancel(context.Background())
	if p.clock == nil {
		p.clock = clock.Real()
	}
	p.queries = queriesIn(p.dir, p.crawl, time.Duration(settings.queryAge), p.logger)
	options.OnRecord = func(weburl.Partition, uint64, []byte) { p.bell.Ring() }
	options.OnPurge, options.Weights = p.queries.Forget, p.weights
	return p
}

// end ends all streams and waits for all readers of the store.
func (p *publisher) end() {
	p.stop()
	p.running.Wait()
}

// totals returns the totals of the feed. ok is false if it does not run.
func (p *publisher) totals() (t broadcast.Totals, ok bool) {
	server := p.server.Load()
	if server == nil {
		return t, false
	}
	t, err := server.Totals(p.ctx)
	return t, err == nil
}

// changes serves the change log.
func (p *publisher) changes(s *store.Store) *feed.Changes {
	p.streams = &feed.Changes{Store: s, Bell: &p.bell, Clock: p.clock, Done: p.ctx.Done()}
	return p.streams
}

// subscribers returns the readers of the feed.
func (p *publisher) subscribers(ctx context.Context) (all dashboard.Subscribers, err error) {
	list := func(kind string, of feed.Standing) error {
		one := dashboard.Subscriber{Kind: kind, Name: of.Name, Taken: &of.Handed, Failures: of.Failures}
		if !of.Since.IsZero() {
			one.Since = &of.Since
		}
		if of.Site != "" {
			one.Wants = []string{string(of.Site)}
		}
		if of.Taken != nil {
			lag, err := feed.LagOf(p.streams.Store, of.Taken, of.Site)
			if err != nil {
				return err
			}
			if one.Changes, one.AtLeast = &lag.Changes, lag.More; !lag.Oldest.IsZero() {
				one.LagS = max(0, p.clock.Now().Sub(lag.Oldest).Seconds())
			}
		}
		all.Subscribers = append(all.Subscribers, one)
		return nil
	}
	open, streams := p.streams.Streams(dashboard.SubscribersListed)
	all.Open = open - len(streams) // and those below
	for _, of := range streams {
		err = errors.Join(err, list("changes", of))
	}
	for _, one := range p.handed() {
		err = errors.Join(err, list("sink", one.Standing()))
	}
	if told := p.told.Load(); told != nil {
		for _, of := range told.Standings() {
			err = errors.Join(err, list("webhook", of))
		}
	}
	all.Open += len(all.Subscribers)
	server := p.server.Load()
	if server == nil || err != nil {
		return all, err
	}
	open, clients, err := server.Clients(ctx, dashboard.SubscribersListed)
	all.Open += open
	for _, c := range clients {
		kind := "subscriber"
		if c.Download {
			kind = "downloader"
		}
		all.Subscribers = append(all.Subscribers, dashboard.Subscriber{Kind: kind, Name: c.Address, Since: &c.Since, Wants: c.Wants, More: c.More,
			Chunks: &c.Chunks, LagS: c.LagS, Freshness: c.Freshness, Slow: c.Slow})
	}
	return all, err
}

// serve adds the feed, under /feed/, and the lists of ResourceSync to the handler of a running crawl. They read
// nothing before the first request.
func (p *publisher) serve(s *store.Store, next http.Handler) http.Handler {
	start := sync.OnceValues(func() (http.Handler, error) { return p.start(s) })
	lists := (&resourcesync.Source{Store: s, Clock: p.clock}).Handler()
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

func (p *publisher) start(s *store.Store) (http.Handler, error) {
	if p.ctx.Err() != nil {
		return nil, errors.New("the crawl is ending")
	}
	transport, hangUp, err := p.transport()
	if err != nil {
		return nil, err
	}
	server, err := broadcast.NewServer(broadcast.Options{
		Store: s, Bell: &p.bell, Clock: p.clock, Logger: p.logger, Rate: float64(p.settings.rate), Transport: transport,
		Scheduler: p.settings.scheduler,
		Objective: scheduler.Objective{Age: p.settings.objective == "age", OverData: p.settings.over == "data"},
	})
	if err != nil {
		hangUp()
		return nil, err
	}
	p.server.Store(server)
	p.running.Go(func() {
		defer hangUp()
		if err := server.Run(p.ctx); err != nil {
			p.logger.Error("the feed has stopped", "error", err)
		}
	})
	return server.Handler(), nil
}

// transport returns the transport of the feed: HTTP, or a multicast group if the settings name one.
func (p *publisher) transport() (t broadcast.Transport, hangUp func(), err error) {
	if p.settings.group == "" {
		return broadcast.Streams{}, func() {}, nil
	}
	group, err := multicast.ParseGroup(p.settings.group)
	if err != nil {
		return nil, nil, err
	}
	conn, err := multicast.Dial(group, p.settings.on)
	if err != nil {
		return nil, nil, err
	}
	sender := multicast.NewSender(conn, float64(p.settings.rate), p.clock)
	return broadcast.NewGroup(group, sender, uint64(p.clock.Now().UnixNano())), func() {
		sender.Close()
		conn.Close()
	}, nil
}
