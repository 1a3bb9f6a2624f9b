package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"freshet/crawl"
	"freshet/crawl/discovery"
	"freshet/crawl/robots"
	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/store/retain"
	"freshet/store/warc"
	"freshet/weburl"
)

// node does what a shard asks for, in one life.
type node struct {
	*trial
	store    *store.Store
	seen     *seen.Test
	shard    *crawl.Shard
	settings crawl.Settings
	life     int

	inbox []crawl.Event
	wakes bool
	wake  time.Duration
	steps int
	dieAt int // the life is cut off at that step; 0: it is not

	turns     map[crawl.Turn]*errand
	begun     bool
	over      crawl.Stop
	ending    func() // to be called when it is over
	appending bool
	draining  bool
	ranking   int // Sort and Weigh that are under way
	orders    map[uint64]*sent
	number    uint64
	waiting   []*errand // to be processed
	working   int
	full      bool // many answers wait
	alone     bool // an answer is processed that none of its kind may be beside
	paid      int  // requests that are to be taken out of the budget
	encoder   *warc.Encoder
}

// errand is a turn on its way.
type errand struct {
	crawl.Fetch
	started   time.Duration
	ends      time.Duration
	asked     bool // the request is under way
	ended     bool
	answer    answer
	failed    string // there was none, and why
	unheard   bool   // the connection had been closed
	process   crawl.Process
	inProcess bool
	processed bool
	appended  bool
}

// heard tells whether the server hears of the request.
func (e *errand) heard() bool { return e.failed != "no name" && !e.unheard }

func newNode(t *trial) *node {
	n := &node{trial: t, life: t.result.Lives, turns: map[crawl.Turn]*errand{}, orders: map[uint64]*sent{}}
	n.encoder = warc.NewEncoder(0)
	return n
}

// soon has something done in this life.
func (n *node) soon(d time.Duration, do func()) {
	n.after(d, func() {
		if n.trial.node == n {
			do()
		}
	})
}

// open opens the directory and steps the shard until it is ready.
func (n *node) open() {
	n.trace("life %d begins, clock %v", n.life, n.skew)
	var err error
	c := n.watch.crawl
	n.store, err = store.Open("data", store.Options{
		FS: n.disk.fs, Partitions: c.Partitions, CacheBytes: 64 << 10, WARC: store.WARCOptions{Host: "trial"},
	})
	n.must(err)
	n.settings = n.settingsOf(c)
	_, pays := n.settings.Ordering.(frontier.Payer)
	n.seen, err = seen.Open("data/seen", seen.Options{
		FS: n.disk.fs, Partitions: c.Partitions, Home: n.store.Home, CacheEntries: c.CacheEntries,
		BufferLinks: c.BufferLinks, Cash: pays, MaxWait: 100 * time.Millisecond,
	})
	n.must(err)
	n.watch.opened(n)
	n.heartbeat()
	n.shard, err = crawl.New(n.rows(), n.links(), n.settings, n.clock())
	n.must(err)
	n.step()
}

// heartbeat notes now and then that the crawl is alive: what matters of it is that there was one.
func (n *node) heartbeat() {
	n.must(n.store.Heartbeat(n.clock()))
	n.soon(time.Hour, n.heartbeat)
}

// settingsOf returns what a shard is told of a case.
func (n *node) settingsOf(c Crawl) crawl.Settings {
	ordering, err := frontier.ParseOrdering(c.Ordering)
	n.must(err)
	s := crawl.Settings{
		Scope: c.Scope, Wait: c.Wait, Ordering: ordering, Delay: c.Delay, AdaptiveDelay: c.Adaptive,
		AddressDelay: c.AddressDelay, PerConnection: c.PerConnection, DiscoveryShare: 0.2, MaxPages: c.MaxPages,
		MaxDepth: c.MaxDepth, PagesPerSite: cmp.Or(c.PagesPerSite, 1000), Retries: c.Retries, RetryDelay: c.RetryDelay,
		Agent: "freshet", Partitions: c.Partitions, RobotsBytes: c.RobotsBytes, OfferBytes: c.OfferBytes,
		GroupBytes: c.GroupBytes, Recalled: 100, Second: c.Second,
	}
	for i, site := range n.c.Sites {
		if site.Seed {
			s.Seeds = append(s.Seeds, n.web.roots[i])
		}
	}
	if c.Excluded {
		pattern, err := frontier.ParsePattern("~7$")
		n.must(err)
		s.Rules.URLs.Exclude = frontier.NewPatterns([]frontier.Pattern{pattern})
	}
	rule := crawl.SiteRule{Refresh: crawl.ContentTypes{"text/*", "application/*"}}
	match, err := frontier.ParsePattern("*")
	n.must(err)
	rule.Match = match
	s.Rules.Sites = append(s.Rules.Sites, rule)
	if c.Hours != "" || c.SiteDelay > 0 {
		match, err := frontier.ParsePattern(string(n.c.Sites[0].Name))
		n.must(err)
		own := crawl.SiteRule{Match: match}
		if c.Hours != "" && n.plant != "hours-ignored" {
			own.Manners.Hours, err = frontier.ParseHours(c.Hours)
			n.must(err)
		}
		if c.SiteDelay > 0 {
			own.Manners.Delay = &c.SiteDelay
		}
		s.Rules.Sites = append(s.Rules.Sites, own)
	}
	if c.Budget > 0 {
		budget := c.Budget
		if n.plant == "budget-exceeded" {
			budget = budget * 3 / 2
		}
		asked, err := crawl.Refresh{Budget: budget, Interval: c.Interval, Policy: c.Policy, Rank: c.Rank}.WithDefaults()
		n.must(err)
		s.Refresh = &asked
	}
	return s
}

// tell has the shard told of something. Things that come close together are at times told together.
func (n *node) tell(e crawl.Event) {
	n.inbox = append(n.inbox, e)
	if n.draw("together", n.result.Steps) < 0.2 {
		n.soon(time.Duration(n.draw("later", n.result.Steps)*float64(50*time.Millisecond)), func() {
			if len(n.inbox) > 0 {
				n.step()
			}
		})
		return
	}
	n.step()
}

// step calls the shard, and carries out what it asks for.
func (n *node) step() {
	n.steps++
	n.result.Steps++
	if n.steps == n.dieAt {
		n.trace("crash while it starts")
		n.crash(time.Second)
		return
	}
	events := n.inbox
	n.inbox = nil
	for _, e := range events {
		n.trace("> %s", described(e))
	}
	work, err := n.shard.Step(n.clock(), events...)
	n.must(err)
	n.wakes = !work.Wake.IsZero()
	n.wake = work.Wake.Sub(epoch) - n.skew
	n.do(work)
	if n.trial.node == n {
		n.watch.stepped(n)
	}
}

// do carries out work. What it tells the shard comes later.
func (n *node) do(w crawl.Work) {
	for _, r := range w.Replies {
		n.replied(r)
	}
	for _, l := range w.Leaves {
		n.leave(l)
	}
	for _, f := range w.Fetches {
		n.fetch(f)
	}
	for _, p := range w.Process {
		n.process(p)
	}
	if len(w.Append) > 0 {
		n.append(w.Append)
	}
	if w.Drain {
		n.drain()
	}
	if w.Keep {
		n.trace("< keep")
		n.soon(n.took("keep"), func() {
			n.must(n.seen.Keep())
			n.soon(n.took("kept"), func() { n.draining = false; n.tell(crawl.Kept{}) })
		})
	}
	if w.Rebuild != nil {
		n.rebuild(w.Rebuild)
	}
	if len(w.Weigh) > 0 {
		n.weigh(w.Weigh)
	}
	if w.Sort {
		n.sort()
	}
	for _, turn := range w.Done {
		n.done(turn)
	}
	if w.Ready && !n.begun {
		n.begin()
	}
	if w.Over != "" {
		n.end(w.Over)
	}
}

// took returns how long the disk takes for something.
func (n *node) took(what string) time.Duration {
	d := n.c.Crawl.AppendTook
	if n.watch.slowDisk > 0 {
		d = 20 * time.Second
	}
	return n.some(d, what, n.result.Steps)
}

// begin lets turns be handed out.
func (n *node) begin() {
	n.begun = true
	n.dieAt = 0
	n.trace("ready")
	n.watch.ready(n)
	if struck := n.watch.struck; len(struck) > 0 {
		n.watch.struck = nil
		n.order(crawl.Strike{Pages: struck}, nil)
	}
	n.inbox = append(n.inbox, crawl.Begin{})
	n.tell(crawl.Room{Turns: n.room()})
	n.soon(time.Second, func() {
		n.finishPurges()
		if n.calm {
			n.lift()
		}
	})
}

// end ends the life in order.
func (n *node) end(why crawl.Stop) {
	n.trace("over: %s", why)
	n.over = why
	n.watch.over(n, why)
	if n.shard.MayStopClean(n.clock()) {
		n.store.Settle()
		n.watch.stopped(true)
	} else {
		n.watch.stopped(false)
	}
	n.finishPurges()
	after := n.ending
	n.close()
	n.trial.node = nil
	switch {
	case after != nil:
		after()
	case n.rested():
		n.ended = true
	default: // it had nothing more to do: somebody starts it again
		n.trial.after(n.some(4*time.Hour, "idle", n.life), n.trial.start)
	}
}

// close closes what is open.
func (n *node) close() {
	if n.shard != nil {
		n.shard.Close()
		n.shard = nil
	}
	if n.seen != nil {
		err := n.seen.Close()
		n.seen = nil
		n.must(err)
	}
	if n.store != nil {
		err := n.store.Close()
		n.store = nil
		n.must(err)
	}
}

// stop asks the crawl to end.
func (n *node) stop(after func()) {
	if n.ending != nil {
		then := n.ending
		n.ending = func() { after(); then() }
		return
	}
	n.trace("asked to stop")
	n.ending = after
	if !n.begun { // the program waits until it can stop
		n.soon(time.Second, func() { n.ending = nil; n.stop(after) })
		return
	}
	n.tell(crawl.End{Reason: crawl.Signal})
	if n.c.Crawl.CancelAtStop {
		n.soon(3*time.Second, n.cancel)
	}
	n.soon(patience, func() { n.fail("ends", "asked to stop %v ago, the crawl has not", patience) })
}

// cancel gives up what is in flight.
func (n *node) cancel() {
	for _, turn := range slices.Sorted(maps.Keys(n.turns)) {
		e := n.turns[turn]
		if e == nil || e.ended || !e.asked {
			continue
		}
		if e.heard() {
			n.watch.canceled(n, e)
		}
		e.ended = true
		n.pay(e, -1)
		n.tell(crawl.Ended{Turn: turn, Started: n.timeOf(e.started), At: n.clock(), Given: crawl.Nothing})
		if n.trial.node != n {
			return
		}
	}
}

// crash cuts the life off.
func (n *node) crash(down time.Duration) {
	n.watch.crashed(n)
	n.disk.crash()
	old := *n
	n.trial.node = nil
	func() {
		defer func() { _ = recover() }() // its disk is gone
		old.close()
	}()
	n.trial.after(down, n.trial.start)
}

func (n *node) timeOf(at time.Duration) time.Time { return epoch.Add(at + n.skew) }

// fetch begins a request.
func (n *node) fetch(f crawl.Fetch) {
	if n.turns[f.Turn] != nil {
		n.fail("turns", "turn %d is handed out twice", f.Turn)
	}
	e := &errand{Fetch: f}
	n.turns[f.Turn] = e
	n.trace("< fetch %d %s robots=%v etag=%s", f.Turn, f.URL, f.Robots, f.ETag)
	n.watch.handedOut(n, e)
	n.pay(e, 1)
	n.soon(n.some(20*time.Millisecond, "name", int(f.Turn)), func() {
		if !f.AskLeave || n.watch.at(noName, f.URL.Site()) {
			n.request(e)
			return
		}
		n.tell(crawl.Resolved{Turn: f.Turn, Address: n.watch.address(f.URL.Site())})
	})
}

// leave goes on with a request, or does not.
func (n *node) leave(l crawl.Leave) {
	e := n.turns[l.Turn]
	if e == nil || e.asked {
		n.fail("turns", "turn %d is given leave and does not wait for it", l.Turn)
	}
	n.trace("< leave %d %v", l.Turn, l.Granted)
	if n.plant == "leave-ignored" && !l.Granted {
		n.watch.started(n, e) // as if it was made all the same
		n.watch.ended(n, e)
	}
	if l.Granted {
		n.soon(0, func() { n.request(e) })
	} else {
		n.pay(e, -1)
	}
}

// pay counts what the budget has to pay for: requests for pages that are made.
func (n *node) pay(e *errand, requests int) {
	if !e.Robots {
		n.paid += requests
	}
}

// request makes a request.
func (n *node) request(e *errand) {
	e.asked, e.started = true, n.now
	site := e.URL.Site()
	took := n.some(n.watch.site(site).Took, "answer", int(e.Turn)+1000*n.life)
	e.answer, e.failed = n.answerTo(e)
	switch e.failed {
	case "silent":
		took = 45 * time.Second
	case "no name":
		took = time.Second
	}
	e.unheard = e.KeepAlive && e.failed == "" && n.draw("unheard", int(e.Turn)) < 0.05
	if e.heard() {
		n.watch.started(n, e)
	}
	e.ends = n.now + took
	n.soon(took, func() { n.answered(e) })
}

// answerTo returns what comes of a request: an answer, or why there is none.
func (n *node) answerTo(e *errand) (a answer, failed string) {
	site := e.URL.Site()
	for _, trouble := range []faultKind{noName, refusing, silent} {
		if n.watch.at(trouble, site) {
			return a, map[faultKind]string{noName: "no name", refusing: "refused", silent: "silent"}[trouble]
		}
	}
	if n.watch.at(overloaded, site) {
		a.status = http.StatusServiceUnavailable
		if n.draw("retry-after", int(e.Turn)) < 0.6 {
			a.retryAfter = time.Duration(n.draw("retry-after long", int(e.Turn)) * float64(90*time.Minute)).Round(time.Second)
		}
		return a, ""
	}
	if n.watch.at(failing, site) || e.Robots && n.watch.at(noRobots, site) {
		return answer{status: http.StatusInternalServerError}, ""
	}
	if strings.HasSuffix(e.URL.String(), "/robots.txt") {
		return n.web.robots(n.watch.index(site), n.now), ""
	}
	return n.web.says(e.URL, e.ETag, n.now, epoch), ""
}

// answered tells the shard how a request went.
func (n *node) answered(e *errand) {
	if e.ended {
		return // it was given up
	}
	e.ended = true
	a := &e.answer
	if e.heard() {
		n.watch.ended(n, e)
	} else if e.Robots && !e.unheard {
		n.watch.told(n, e)
	}
	event := crawl.Ended{
		Turn: e.Turn, Started: n.timeOf(e.started), At: n.clock(), Bytes: 100, RetryAfter: a.retryAfter,
		Kept: e.KeepAlive && e.failed == "" && n.watch.site(e.URL.Site()).Keeps,
		Failed: e.failed != "" && e.failed != "no name" || a.status == http.StatusServiceUnavailable ||
			a.status == http.StatusTooManyRequests,
	}
	switch n.plant {
	case "interval-from-start":
		event.At = event.Started
	case "retry-after-ignored":
		event.RetryAfter = 0
	}
	if e.unheard {
		event.Given = crawl.Unheard
		n.pay(e, -1)
		n.tell(event)
		return
	}
	if e.Robots {
		event.Robots = n.robotsAnswer(e)
	}
	n.tell(event)
}

func (n *node) outcome(e *errand) store.Outcome {
	if e.failed != "" {
		return store.OutcomeFailed
	}
	return store.OutcomeOf(e.answer.status)
}

func (n *node) robotsAnswer(e *errand) *crawl.RobotsAnswer {
	a := &e.answer
	r := &crawl.RobotsAnswer{Record: &store.Robots{
		Site: e.Page.Site(), At: n.timeOf(e.started).UnixNano(), End: n.clock().UnixNano(), Outcome: n.outcome(e),
		Status: a.status, Reason: e.failed,
	}}
	reached := e.failed == "" && a.status < 500
	r.Answer = robots.Answer{Redirect: a.redirect, Reached: reached}
	if a.status == http.StatusOK {
		r.Body = []byte(a.body)
	}
	if n.plant == "outage-allows" && !reached {
		r.Reached = true
	}
	return r
}

// process has an answer processed when a worker is free.
func (n *node) process(p crawl.Process) {
	e := n.turns[p.Turn]
	if e == nil || !e.ended || e.process.Turn != 0 {
		n.fail("turns", "turn %d is to be processed at a wrong moment", p.Turn)
	}
	e.process = p
	n.waiting = append(n.waiting, e)
	n.work()
	n.makeRoom()
}

// makeRoom lets no more turns be handed out while many answers wait to be processed.
func (n *node) makeRoom() {
	if full := len(n.waiting) > 20 || n.full && len(n.waiting) > 5; full != n.full {
		n.full = full
		n.soon(0, func() { n.tell(crawl.Room{Turns: n.room()}) })
	}
}

func (n *node) room() int {
	if n.full {
		return 0
	}
	return n.c.Crawl.Room
}

// work lets free workers take answers.
func (n *node) work() {
	for n.working < n.c.Crawl.Workers {
		i := slices.IndexFunc(n.waiting, func(e *errand) bool { return !e.process.Alone || !n.alone })
		if i < 0 {
			return
		}
		e := n.waiting[i]
		n.waiting = slices.Delete(n.waiting, i, i+1)
		n.working++
		n.alone = n.alone || e.process.Alone
		e.inProcess = true
		n.soon(n.some(n.c.Crawl.ProcessTook, "process", int(e.Turn)), func() {
			n.working--
			if e.process.Alone {
				n.alone = false
			}
			e.processed = true
			n.tell(n.learn(e))
			if n.trial.node == n {
				n.work()
				n.makeRoom()
			}
		})
	}
}

// learn makes of an answer what a worker makes of it.
func (n *node) learn(e *errand) crawl.Processed {
	p := e.process
	if p.Robots != nil {
		return crawl.Processed{Turn: e.Turn, Bytes: 100}
	}
	a := &e.answer
	r := &store.Fetched{
		URL: p.URL, At: n.timeOf(e.started).UnixNano(), End: n.timeOf(e.ends).UnixNano(), Outcome: n.outcome(e),
		Status: a.status, Reason: e.failed, Unconditional: p.Audit, ContentType: a.contentType, Size: int64(len(a.body)),
		WireBytes: 100, TotalNs: int64(e.ends - e.started), ETag: a.etag, NoFollow: a.noFollow, NoArchive: a.noArchive,
	}
	done := crawl.Processed{Turn: e.Turn, Page: r, Bytes: 100, Class: cmp.Or(e.failed, fmt.Sprint(a.status))}
	links := a.links
	switch {
	case r.Outcome == store.OutcomeStored:
		r.BodyDigest = digest(a.body)
		copy(r.TextDigest[:], r.BodyDigest[:])
		r.TextVersion = 1
	case !a.redirect.IsZero():
		r.Redirect, r.Permanent = a.redirect, a.permanent
		links = []store.OutLink{{URL: a.redirect, Rel: weburl.RelRedirect}}
	default:
		return done
	}
	r.Links = store.EncodeLinks(links)
	if !r.NoFollow {
		done.Links = discovery.PageLinks(links, p.Row)
		discovery.Share(n.settings.Ordering, p.URL, done.Links)
	}
	if n.plant == "link-dropped" && len(done.Links) > 1 && n.draw("drop", int(e.Turn)) < 0.3 {
		done.Links = done.Links[1:]
	}
	return done
}

// members returns the captures of a page.
func (n *node) members(e *errand) [][]byte {
	if e.answer.body == "" || e.answer.noArchive || e.Robots {
		return nil
	}
	member, err := n.encoder.AppendMember(nil, &warc.Record{
		Type: warc.Response, Date: n.timeOf(e.started), TargetURI: e.URL.String(), ContentType: warc.TypeResponse,
		Block: []byte("HTTP/1.1 200 OK\r\n\r\n" + e.answer.body),
	})
	n.must(err)
	return [][]byte{member}
}

// append makes a group of records durable.
func (n *node) append(group []crawl.Append) {
	if n.appending {
		n.fail("turns", "a group is to be appended while another is")
	}
	n.appending = true
	for _, a := range group {
		n.trace("< append %s", recordsOf(a))
		n.watch.proposed(n, a)
	}
	if n.plant == "early-ack" && n.crashesSoon() {
		n.disk.lag()
	}
	n.soon(n.took("write"), func() {
		done := n.commit(group)
		n.soon(n.took("written"), func() {
			n.appending = false
			n.watch.acknowledged(n, group)
			n.tell(done)
		})
	})
}

// crashesSoon tells whether a crash is near: copies of the disk take long.
func (n *node) crashesSoon() bool {
	return slices.ContainsFunc(n.c.Faults, func(f Fault) bool {
		return f.Kind == crash && f.At >= n.now && f.At < n.now+time.Hour
	})
}

// commit makes the records of a group durable: first those of fetches, then those of turns that had none, then others.
func (n *node) commit(group []crawl.Append) (done crawl.Appended) {
	done.At = make([]seen.Mark, len(group))
	var fetches []store.Fetch
	var whose []int
	var turns []store.Record
	for i, a := range group {
		rest := a.Records
		if a.Turn != 0 && a.Refused == nil {
			f := store.Fetch{Record: rest[0], Owes: a.Owes}
			if members := n.members(n.turns[a.Turn]); members != nil {
				f.Members = members
			}
			if n.plant == "cash-twice" && a.Owes != nil {
				f.Owes = func(cash, _ float64) float64 { return cash }
			}
			fetches, whose, rest = append(fetches, f), append(whose, i), rest[1:]
		}
		if a.Turn != 0 {
			turns = append(turns, rest...)
		}
	}
	if len(fetches) > 0 {
		moves, err := n.store.CommitPages(fetches)
		n.must(err)
		done.Turns = moves
		for i := range fetches {
			done.At[whose[i]] = seen.Mark{Partition: fetches[i].Partition, Record: fetches[i].Number}
		}
	}
	if len(turns) > 0 {
		moves, err := n.store.Apply(turns...)
		n.must(err)
		done.Turns = append(done.Turns, moves...)
	}
	for _, a := range group {
		switch {
		case a.Turn != 0:
		case a.Purge != nil:
			n.purge(*a.Purge, &done)
		case n.plant == "pause-not-stored" && isPause(a.Records[0]):
		default:
			moves, err := n.store.Apply(a.Records...)
			n.must(err)
			done.Others = append(done.Others, moves...)
		}
	}
	if n.plant == "place-kept" {
		done.Others = slices.DeleteFunc(done.Others, func(m store.Move) bool {
			return m.To == store.DueQueue && n.draw("kept", int(m.Fingerprint)) < 0.1
		})
	}
	return done
}

func isPause(r store.Record) bool {
	_, is := r.(*store.Paused)
	return is
}

// purge takes something down in the database, and the bytes off the disk a while later.
func (n *node) purge(target store.Target, done *crawl.Appended) {
	before, err := n.store.Total()
	n.must(err)
	if n.plant == "purge-misses" && target.URL.IsZero() {
		target.URL = target.Site.Root() // and no more of it
	}
	moves, err := n.store.BeginPurge(n.clock(), target)
	n.must(err)
	after, err := n.store.Total()
	n.must(err)
	done.Others = append(done.Others, moves...)
	done.Purged += after.States[store.StatePurged] - before.States[store.StatePurged]
	n.soon(10*time.Second, n.finishPurges)
}

// finishPurges takes the bytes of what was purged off the disk.
func (n *node) finishPurges() {
	report, err := retain.FinishPurges(context.Background(), n.store)
	n.must(err)
	if len(report.Targets) > 0 {
		n.trace("purged %v", report.Targets)
		n.watch.bodiesGone(n)
	}
}

// drain has the seen test decide.
func (n *node) drain() {
	if n.draining {
		n.fail("turns", "a drain is asked for while another is under way")
	}
	n.draining = true
	n.trace("< drain")
	n.soon(n.took("drain"), func() {
		verdicts, marks, err := n.seen.Drain(nil)
		n.must(err)
		if n.plant == "kept-early" {
			n.must(n.seen.Keep())
		}
		if n.plant == "verdict-lost" && len(verdicts) > 0 && n.draw("lost", n.result.Steps) < 0.2 {
			verdicts = verdicts[1:]
		}
		n.soon(n.took("decided"), func() {
			n.tell(crawl.Decided{Verdicts: verdicts, Marks: marks, Durable: n.seen.Marks()})
		})
	})
}

// rebuild fills the seen test from the page table.
func (n *node) rebuild(r *crawl.Rebuild) {
	n.trace("< rebuild")
	n.soon(n.took("rebuild"), func() {
		marks := make([]seen.Mark, len(r.Linked))
		for p, record := range r.Linked {
			marks[p] = seen.Mark{Partition: weburl.Partition(p), Record: record}
		}
		n.must(n.seen.Rebuild(n.known(), marks))
		n.soon(n.took("rebuilt"), func() { n.tell(crawl.Rebuilt{}) })
	})
}

// known returns all pages as links to them.
func (n *node) known() iter.Seq[weburl.Link] {
	return func(yield func(weburl.Link) bool) {
		for _, page := range n.pages() {
			if !yield(weburl.Link{URL: page.URL, Fingerprint: page.URL.Fingerprint(), Depth: page.Depth}) {
				return
			}
		}
	}
}

// pages returns all rows.
func (n *node) pages() (all []store.PageAt) {
	for p := range weburl.Partition(n.store.Partitions()) {
		for page, err := range n.store.Pages(p) {
			n.must(err)
			all = append(all, page)
		}
	}
	return all
}

// weigh ranks pages, or fails to.
func (n *node) weigh(pages []crawl.PageKey) {
	n.trace("< weigh %d", len(pages))
	n.ranking++
	var ranks []float64
	if n.draw("weigh", n.result.Steps) < 0.8 {
		for _, page := range pages {
			ranks = append(ranks, 2*n.draw("rank", int(page.Fingerprint)))
		}
	}
	n.soon(n.some(10*time.Second, "weighed", n.result.Steps), func() { n.ranking--; n.tell(crawl.Weighed{Ranks: ranks}) })
}

// sort gives the waiting pages places by a rank that does not change.
func (n *node) sort() {
	n.trace("< sort")
	n.ranking++
	failed := n.draw("sort", n.result.Steps) < 0.2
	n.soon(n.some(5*time.Second, "sorted", n.result.Steps), func() {
		n.ranking--
		if failed {
			n.tell(crawl.Sorted{})
			return
		}
		n.tell(crawl.Sorted{Places: n.places()})
	})
}

func (n *node) places() *crawl.Places {
	census := &crawl.Census{First: []uint32{0}}
	var waiting []frontier.Waiting
	for p := range weburl.Partition(n.store.Partitions()) {
		for page, err := range n.store.Pages(p) {
			n.must(err)
			if page.Queue == store.NewQueue {
				waiting = append(waiting, frontier.Waiting{
					Page: uint32(len(census.Pages)), Site: uint32(n.watch.index(page.URL.Site()) + 1), Arrival: page.Key.Arrival,
					Order: page.Key.Order, Rank: 2 * n.draw("rank", int(page.Fingerprint)),
				})
			}
			census.Pages = append(census.Pages, page.Fingerprint)
		}
		census.First = append(census.First, uint32(len(census.Pages)))
	}
	ranked := n.settings.Ordering.(frontier.Ranked)
	size := ranked.Size(len(census.Pages), len(waiting))
	moved := frontier.Places(ranked, waiting, size)
	slices.SortFunc(moved, func(a, b frontier.Waiting) int { return cmp.Compare(a.Page, b.Page) })
	return &crawl.Places{Known: census, Moved: moved, Size: size}
}

// done forgets a turn.
func (n *node) done(turn crawl.Turn) {
	e := n.turns[turn]
	n.trace("< done %d", turn)
	if e != nil && e.process.Turn != 0 && !e.appended {
		n.fail("turns", "turn %d of %s is over and its record is not durable", turn, e.Page)
	}
	delete(n.turns, turn)
}

// order gives the shard an order.
func (n *node) order(o crawl.Order, then func(crawl.Reply)) {
	n.number++
	n.orders[n.number] = &sent{order: o, then: then}
	n.trace("order %d: %s", n.number, describedOrder(o))
	n.watch.ordered(n, o)
	n.tell(crawl.Ordered{Number: n.number, Order: o})
}

// sent is an order that has not been answered.
type sent struct {
	order crawl.Order
	then  func(crawl.Reply)
}

func (n *node) replied(r crawl.Reply) {
	o := n.orders[r.Number]
	if o == nil {
		n.fail("orders", "reply %d answers no order", r.Number)
	}
	delete(n.orders, r.Number)
	n.trace("< reply %d: %d pages, %d refused, %v", r.Number, r.Count, len(r.Refused), r.Err)
	if r.Err != nil && !errors.Is(r.Err, crawl.ErrUnknown) && !errors.Is(r.Err, crawl.ErrOrder) {
		n.must(r.Err)
	}
	n.watch.replied(n, o.order, r)
	if o.then != nil {
		o.then(r)
	}
}
