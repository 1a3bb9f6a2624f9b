package broadcast

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"freshet/clock"
	"freshet/feed"
	"freshet/feed/broadcast/scheduler"
	"freshet/store"
	"freshet/weburl"
)

// Options configures a Server. All fields but Store and Bell have defaults.
type Options struct {
	Store      *store.Store
	Bell       *feed.Bell   // rung when the log has grown
	Clock      *clock.Clock // default clock.Real()
	Logger     *slog.Logger // default: none
	Scheduler  string       // one of scheduler.Names; default scheduler.Default
	Objective  scheduler.Objective
	Rate       float64       // bytes/s that may leave; 0: as fast as the clients take them
	ChunkBytes int           // of a chunk, unless it is one page; default 256 KiB
	QueueBytes int           // in memory for a client before it is passed over; default 4 MiB
	MaxClients int           // of requests for the stream, admitted or not; default 4,096
	Lease      time.Duration // a client without a sign of life for this long is dropped; default 1 min
	Transport  Transport     // default HTTP streams
}

// A Session is a connected client.
type Session struct {
	id       string
	number   int // in the demand
	ask      Subscription
	queue    *queue
	joined   string // the cursor at which it joined
	told     string // the last cursor sent to it
	lease    time.Time
	passed   bool // passed over until its queue is shorter
	finished bool // a downloader that has left the demand

	address   string    // from which it connected
	since     time.Time // it is connected
	freshness float64   // as it was told last; -1: not yet
}

// Subscription is the request of a client.
type Subscription struct {
	Interest
	Download bool `json:"download,omitempty"` // one whole copy, then the end
	// Cursor is the position of the client's mirror; "" if it has nothing, or lists its pages in Have.
	Cursor string `json:"cursor,omitempty"`
	// Have maps the client's URLs to the digests of their bodies, hexadecimal. The server tells it to drop those that
	// the repository does not have.
	Have map[string]string `json:"have,omitempty"`
	// Multicast means that the client listens to the group that GET /feed/group names.
	Multicast bool `json:"multicast,omitempty"`
}

// Totals holds the counts of a Server, and the state of its clients.
type Totals struct {
	Subscribers     int     `json:"subscribers"`
	Downloaders     int     `json:"downloaders"`
	Chunks          int     `json:"chunks"`
	ChunkMeanBytes  float64 `json:"chunk_mean_bytes"`
	Scheduler       string  `json:"scheduler"`
	Objective       string  `json:"objective"`        // freshness or age
	Over            string  `json:"over"`             // clients or data
	RateBytesPerS   float64 `json:"rate_bytes_per_s"` // the most that may leave; 0: no limit
	Waits           string  `json:"scheduler_waits"`  // one of the Waits constants; empty: it sends
	ChunksSent      int64   `json:"chunks_sent"`
	ChunkBytes      int64   `json:"chunk_bytes"`    // each chunk counted once
	SentBytes       int64   `json:"sent_bytes"`     // left the server
	RepairedBytes   int64   `json:"repaired_bytes"` // of those, requested again by receivers of a multicast
	PassedOver      int64   `json:"passed_over"`    // times that a client was too slow
	Freshness       float64 `json:"freshness_over_clients"`
	FreshnessData   float64 `json:"freshness_over_data"`
	AgeS            float64 `json:"age_over_clients_s"`
	AgeDataS        float64 `json:"age_over_data_s"`
	ItemLagP50S     float64 `json:"item_lag_p50_s"`
	ItemLagP99S     float64 `json:"item_lag_p99_s"`
	Downloads       int     `json:"downloads_served"`
	DownloadDelayS  float64 `json:"download_delay_s"` // the unserved counted
	DownloadsFailed int     `json:"downloads_unserved"`
}

// What a scheduler waits for.
const (
	WaitsForChanges = "changes" // every client has everything
	WaitsForRate    = "rate"    // the limit of bytes a second
	WaitsForClients = "clients" // those that lack something are too slow, and are passed over
	WaitsForStorage = "storage" // the chunks that are lacked are being read from an object store
)

// A Client is the state of a client, for people.
type Client struct {
	Address   string   // from which it connected
	Wants     []string // at most three of its sites, domains and patterns; none: everything
	More      int      // entries apart from these
	Download  bool
	Since     time.Time // it is connected
	Chunks    int       // of which it lacks pages
	LagS      float64   // it has lacked something for so long
	Freshness *float64  // share of its pages that are up to date, as it was told last; nil: it was not
	Slow      bool      // it is too slow, and passed over
}

var (
	errFull    = errors.New("broadcast: there are too many clients: try again later")
	errStopped = errors.New("broadcast: the feed has stopped")
)

// A Server is the feed. Only its loop, Run, touches the demand, the catalog and the sessions. Others call functions
// in it by do.
type Server struct {
	o        Options
	catalog  *catalog
	reader   *feed.Reader
	position string // the reader's cursor
	demand   *scheduler.Demand
	started  time.Time
	sessions []*Session // in the order in which they joined
	clients  []*Session // those in the demand, by their number there
	audience *audience
	totals   Totals
	next     time.Time // when the budget allows the next sending
	beat     time.Time // when the next signs of life are due

	receivers []int // scratch of send

	away     []int     // chunks that are held until they are read beside the loop
	again    time.Time // when the first of them is to be read
	fetching bool      // it is being read
	fetches  chan *fetched
	fetched  *fetched // the next chunk to send; nil: the scheduler says
	waits    bool     // it was logged that pages cannot be read

	streams atomic.Int64 // requests for the stream under way, admitted or not
	reading atomic.Int64 // bytes in memory of subscriptions that are not admitted yet

	asks chan func()
	done chan struct{} // closed when Run ends
}

// NewServer returns a server; Run runs it. An invalid option is an error.
func NewServer(o Options) (*Server, error) {
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		o.Transport = Streams{}
	}
	setDefault(&o.Scheduler, scheduler.Default)
	setDefault(&o.ChunkBytes, 256<<10)
	setDefault(&o.QueueBytes, 4<<20)
	setDefault(&o.MaxClients, 4096)
	setDefault(&o.Lease, time.Minute)
	policy, err := scheduler.New(o.Scheduler, o.Objective)
	if err != nil {
		return nil, fmt.Errorf("broadcast: %w", err)
	}
	return &Server{
		o: o, demand: scheduler.NewDemand(policy, scheduler.Options{Copies: o.Transport.Copies()}), started: o.Clock.Now(),
		catalog:  newCatalog(o.Store, o.Logger, o.ChunkBytes),
		audience: newAudience(), asks: make(chan func()), done: make(chan struct{}), fetches: make(chan *fetched, 1),
	}, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

const (
	readAtOnce = 4096                   // entries of the log
	lookEvery  = 200 * time.Millisecond // between reads of the log; pages that come in between form chunks together
	heartbeat  = 15 * time.Second       // between signs of life
	readAgain  = 5 * time.Second        // before a chunk that could not be read is tried again
)

// Run serves until ctx ends. Its error is the store's.
func (s *Server) Run(ctx context.Context) (err error) {
	defer close(s.done)
	defer func() {
		for _, session := range s.sessions {
			session.queue.close()
		}
		if s.fetching {
			<-s.fetches
		}
	}()
	if s.reader, err = feed.NewReader(s.o.Store, feed.Start, ""); err != nil {
		return err
	}
	timer := s.o.Clock.NewTimer(0)
	defer timer.Stop()
	var looked time.Time
	news := s.o.Bell.Wait()
	grown := true
	for {
		now := s.o.Clock.Now()
		if grown && now.Sub(looked) >= s.o.Clock.Span(lookEvery) {
			news, grown, looked = s.o.Bell.Wait(), false, now
			if err := s.follow(); err != nil {
				return err
			}
		}
		s.keepUp(now)
		wait, sent, err := s.step(now)
		if err != nil {
			return err
		}
		if grown {
			wait = min(wait, looked.Add(s.o.Clock.Span(lookEvery)).Sub(now))
		}
		if sent {
			wait = 0
		}
		s.o.Clock.Reset(timer, max(wait, 0))
		var bell <-chan struct{}
		if !grown {
			bell = news
		}
		select {
		case ask := <-s.asks:
			ask()
		case f := <-s.fetches:
			if err := s.tried(f); err != nil {
				return err
			}
		case <-bell:
			grown = true
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// seconds converts a time to that of the demand.
func (s *Server) seconds(at time.Time) float64 { return at.Sub(s.started).Seconds() }

// follow reads the new entries of the log.
func (s *Server) follow() error {
	for {
		entries, err := s.reader.Next(readAtOnce)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			s.position = s.reader.Cursor().String()
			return nil
		}
		s.take(entries)
	}
}

// take applies entries of the log: new versions of pages in chunks, and new chunks.
func (s *Server) take(entries []feed.Entry) {
	now := s.seconds(s.o.Clock.Now())
	var fresh []feed.Entry
	for _, e := range entries {
		if at, ok := s.catalog.update(e); ok {
			s.demand.Resize(int(at.chunk), int(at.page), s.catalog.bytesOf(e), now)
			s.demand.Change(int(at.chunk), int(at.page), now)
		} else {
			fresh = append(fresh, e)
		}
	}
	first := s.demand.Chunks()
	for _, chunk := range s.catalog.form(fresh) {
		s.demand.AddChunk(chunk, now)
	}
	s.extend(first, now)
}

// extend adds the chunks from first on to the wants of the subscribers, who have nothing of them.
func (s *Server) extend(first int, now float64) {
	wants := map[*Session][]scheduler.Want{}
	var order []*Session
	for number := first; number < len(s.catalog.runs); number++ {
		for _, session := range s.audience.of(s.catalog.runs[number].site) {
			want, any := s.want(session, &inventory{}, number)
			if !any {
				continue
			}
			if wants[session] == nil {
				order = append(order, session)
			}
			wants[session] = append(wants[session], want)
		}
	}
	for _, session := range order {
		s.demand.Extend(session.number, wants[session], now)
	}
}

// wants returns the chunks that a client wants, and what it lacks of each.
func (s *Server) wants(session *Session, has *inventory) (wants []scheduler.Want) {
	for _, number := range s.catalog.among(&session.ask.Interest) {
		if want, any := s.want(session, has, number); any {
			wants = append(wants, want)
		}
	}
	return wants
}

// want returns which pages of a chunk a client wants, and which of these it lacks. any is false if it wants none, or
// if it is a downloader and has all of them.
func (s *Server) want(session *Session, has *inventory, number int) (want scheduler.Want, any bool) {
	wanted := s.catalog.wanted(number, &session.ask.Interest)
	want = scheduler.Want{Chunk: number, Missing: wanted & has.lacks(&s.catalog.runs[number])}
	return want, wanted != 0 && (want.Missing != 0 || !session.ask.Download)
}

// step sends a chunk if the budget allows it and a client needs one. Otherwise it returns how long to wait. It holds a
// chunk that is not on this disk until it was read beside the loop, so that others go on.
func (s *Server) step(now time.Time) (wait time.Duration, sent bool, err error) {
	if s.fetched != nil && !s.demand.Needed(s.fetched.number) {
		s.fetched = nil // its clients have gone
	}
	wait = min(s.beat.Sub(now), s.fetch(now))
	if now.Before(s.next) {
		return min(wait, s.next.Sub(now)), false, nil
	}
	var has map[weburl.Fingerprint]Page
	var number int
	var ok bool
	if s.fetched != nil {
		number, has, ok = s.fetched.number, s.fetched.pages, true
	} else {
		number, ok = s.demand.Pick(s.seconds(now))
	}
	s.fetched = nil
	if !ok {
		return wait, false, nil
	}
	chunk, err := s.catalog.load(number, s.demand.Missing(number), has)
	if errors.Is(err, errUnread) {
		s.away = append(s.away, number)
		s.demand.Hold(number, true, s.seconds(now))
		return 0, true, nil
	}
	if err != nil {
		return 0, false, err
	}
	frame, err := AppendFrame(nil, &Message{Chunk: chunk})
	if err != nil {
		return 0, false, err
	}
	s.send(number, frame, now)
	return 0, true, nil
}

// fetch begins to read the next chunk that is away, or returns how long to wait before that.
func (s *Server) fetch(now time.Time) (wait time.Duration) {
	for !s.fetching && s.fetched == nil && len(s.away) > 0 {
		if now.Before(s.again) {
			return s.again.Sub(now)
		}
		number := s.away[0]
		pages := s.demand.Lacking(number)
		if pages == 0 {
			s.demand.Hold(number, false, s.seconds(now))
			s.away = s.away[1:]
			continue
		}
		s.fetching = true
		s.catalog.fetch(number, pages, s.fetches)
	}
	return heartbeat
}

// tried takes the outcome of a fetch. A chunk that could not be read goes behind the others.
func (s *Server) tried(f *fetched) error {
	s.fetching = false
	s.catalog.learn(f)
	if errors.Is(f.err, errUnread) {
		if !s.waits {
			s.waits = true
			s.o.Logger.Warn("a page of the feed waits until it can be read; those on this disk go on", "error", f.err)
		}
		s.again = s.o.Clock.Now().Add(readAgain)
		s.away = append(s.away[1:], f.number)
		return nil
	}
	if f.err != nil {
		return f.err
	}
	s.waits, s.fetched = false, f
	s.demand.Hold(f.number, false, s.seconds(s.o.Clock.Now()))
	s.away = s.away[1:]
	return nil
}

// send sends a chunk to all clients that need it, and tells those that now have everything.
func (s *Server) send(number int, frame []byte, now time.Time) {
	var to []*Session
	s.receivers = s.demand.Receivers(s.receivers[:0], number)
	for _, client := range s.receivers {
		session := s.clients[client]
		to = append(to, session)
		session.finished = session.ask.Download && s.demand.Outstanding(client) == 1
	}
	bytes := s.o.Transport.Send(frame, to)
	s.totals.ChunksSent++
	s.totals.ChunkBytes += int64(len(frame))
	s.totals.SentBytes += bytes
	if s.o.Rate > 0 {
		s.next = now.Add(time.Duration(float64(bytes) / s.o.Rate * 1e9))
	}
	s.demand.Sent(number, s.seconds(now))
	for _, session := range to {
		if session.finished {
			s.clients[session.number] = nil // the number is free again
		}
		s.settle(session, now)
	}
}

// settle tells a client when it has everything. It passes over a client whose queue is too long.
func (s *Server) settle(session *Session, now time.Time) {
	switch {
	case session.finished:
		s.tell(session, &Message{Cursor: session.joined, End: true})
		session.queue.close()
	case !session.ask.Download && s.demand.Outstanding(session.number) == 0 && session.told != s.position:
		session.told = s.position
		s.tell(session, &Message{Cursor: s.position})
	}
	if !session.finished && !session.passed && session.queue.waiting() > s.o.QueueBytes {
		session.passed = true
		s.totals.PassedOver++
		s.demand.Pause(session.number, s.seconds(now))
	}
}

// tell sends a message to one client.
func (s *Server) tell(session *Session, m *Message) {
	frame, err := AppendFrame(nil, m)
	if err != nil {
		panic(err) // of our own making, and small
	}
	session.queue.put(frame)
}

// keepUp regularly sends signs of life and drops clients whose lease has ended.
func (s *Server) keepUp(now time.Time) {
	if now.Before(s.beat) {
		return
	}
	s.beat = now.Add(s.o.Clock.Span(min(heartbeat, s.o.Lease/4)))
	for _, session := range slices.Clone(s.sessions) {
		switch {
		case now.After(session.lease):
			s.o.Logger.Info("a client of the feed timed out", "session", session.id)
			s.leave(session)
		case session.finished:
		default:
			s.settle(session, now)
			if session.queue.waiting() == 0 {
				freshness, age := s.demand.Client(session.number, s.seconds(now))
				session.freshness = freshness
				s.tell(session, &Message{Standing: &Standing{freshness, age, s.demand.Outstanding(session.number)}})
			}
		}
	}
}

// do calls what in the loop and waits for its end. It returns an error if the loop or ctx has ended.
func (s *Server) do(ctx context.Context, what func()) error {
	done := make(chan struct{})
	select {
	case s.asks <- func() { what(); close(done) }:
		<-done
		return nil
	case <-s.done:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join adds a client. The loop calls it.
func (s *Server) join(ask Subscription, has *inventory) (*Session, error) {
	if err := s.follow(); err != nil {
		return nil, err
	}
	now := s.o.Clock.Now()
	session := &Session{id: rand.Text(), ask: ask, queue: newQueue(), joined: s.position, lease: now.Add(s.o.Clock.Span(s.o.Lease)), since: now, freshness: -1}
	hello := &Hello{Session: session.id, LeaseMs: s.o.Lease.Milliseconds()}
	if ask.Multicast {
		hello.Key = s.o.Transport.Key()
	}
	s.tell(session, &Message{Hello: hello, Drop: has.drop})
	wants := s.wants(session, has)
	if session.finished = ask.Download && len(wants) == 0; !session.finished {
		session.number = s.demand.Join(scheduler.Client{Downloader: ask.Download}, wants, s.seconds(now))
		s.clients = append(s.clients, make([]*Session, max(0, session.number+1-len(s.clients)))...)
		s.clients[session.number] = session
	}
	s.sessions = append(s.sessions, session)
	if !ask.Download {
		s.audience.add(session)
	}
	s.settle(session, now)
	return session, nil
}

// leave removes a client. The loop calls it. A second call does nothing.
func (s *Server) leave(session *Session) {
	at := slices.Index(s.sessions, session)
	if at < 0 {
		return
	}
	s.sessions = slices.Delete(s.sessions, at, at+1)
	session.queue.close()
	if !session.ask.Download {
		s.audience.remove(session)
	}
	if !session.finished {
		s.demand.Leave(session.number, s.seconds(s.o.Clock.Now()))
		s.clients[session.number] = nil
	}
}

// resume lets a client that was passed over have chunks again, because its queue is short. The loop calls it.
func (s *Server) resume(session *Session) {
	if session.passed && !session.finished && slices.Contains(s.sessions, session) {
		session.passed = false
		s.demand.Resume(session.number, s.seconds(s.o.Clock.Now()))
	}
}

// Totals returns what the server has done so far.
func (s *Server) Totals(ctx context.Context) (t Totals, err error) {
	err = s.do(ctx, func() {
		now := s.seconds(s.o.Clock.Now())
		t = s.totals
		for _, session := range s.sessions {
			if session.ask.Download {
				t.Downloaders++
			} else {
				t.Subscribers++
			}
		}
		t.RepairedBytes = s.o.Transport.Repaired()
		t.SentBytes += t.RepairedBytes
		reading, delays, lag := s.demand.Read(now), s.demand.Delays(now), s.demand.ItemLag(now)
		t.Chunks, t.ChunkMeanBytes = s.demand.Chunks(), s.demand.Bytes()/float64(max(1, s.demand.Chunks()))
		t.Scheduler, t.Objective, t.Over, t.RateBytesPerS, t.Waits = s.o.Scheduler, "freshness", "clients", s.o.Rate, s.waitsFor()
		if s.o.Objective.Age {
			t.Objective = "age"
		}
		if s.o.Objective.OverData {
			t.Over = "data"
		}
		t.Freshness, t.FreshnessData = reading.FreshnessOverClients, reading.FreshnessOverData
		t.AgeS, t.AgeDataS = reading.AgeOverClients, reading.AgeOverData
		t.ItemLagP50S, t.ItemLagP99S = lag.Quantile(0.5), lag.Quantile(0.99)
		t.Downloads, t.DownloadsFailed, t.DownloadDelayS = delays.Served, delays.Unserved, delays.MeanAll
	})
	return t, err
}

// waitsFor returns what the scheduler waits for; empty if it sends. The loop calls it.
func (s *Server) waitsFor() string {
	lacking, ready := false, false
	for _, session := range s.sessions {
		if !session.finished && s.demand.Outstanding(session.number) > 0 {
			lacking, ready = true, ready || !session.passed
		}
	}
	switch {
	case !lacking:
		return WaitsForChanges
	case !ready:
		return WaitsForClients
	case s.o.Clock.Now().Before(s.next):
		return WaitsForRate
	case len(s.away) > 0 && s.fetched == nil:
		return WaitsForStorage
	}
	return ""
}

// Clients returns how many clients are connected, and at most that many of them. Those that have lacked something for
// the longest come first. O(clients).
func (s *Server) Clients(ctx context.Context, most int) (open int, all []Client, err error) {
	err = s.do(ctx, func() {
		now := s.seconds(s.o.Clock.Now())
		for _, session := range s.sessions {
			c := Client{Address: session.address, Download: session.ask.Download, Since: session.since, Slow: session.passed}
			c.Wants, c.More = session.ask.Interest.some()
			if !session.finished {
				c.Chunks, c.LagS = s.demand.Outstanding(session.number), s.demand.StaleFor(session.number, now)
			}
			if fresh := session.freshness; fresh >= 0 && !c.Download {
				c.Freshness = &fresh
			}
			all = append(all, c)
		}
	})
	slices.SortStableFunc(all, func(x, y Client) int { return cmp.Compare(y.LagS, x.LagS) })
	return len(all), all[:min(len(all), most)], err
}
