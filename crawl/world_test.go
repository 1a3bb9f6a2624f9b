package crawl

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/crawl/discovery"
	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// begin is when the time of a world begins.
var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A world is a shard with a real store and a real seen set, and a web that answers as the test tells it. It does at
// once what the shard asks for, in order and in virtual time.
type world struct {
	t        *testing.T
	fs       *vfs.MemFS
	store    *store.Store
	seen     seenSet
	shard    *Shard
	settings Settings
	web      map[string]*page
	now      time.Time
	wake     time.Time
	later    []later // events to come, by time
	turns    map[Turn]Fetch
	lines    []string // what happened
	orders   uint64
	over     Stop
	crew     *crew         // the shard's crew; nil: it is alone
	ahead    time.Duration // of the crew's time
	sender   *seen.Sender  // a planted fault: all partitions share it; nil: no fault

	seenLinks int // how many links may wait for the seen test
}

// seenSet is a seen test as a node has it.
type seenSet interface {
	Links
	Drain([]seen.Verdict) ([]seen.Verdict, []seen.Mark, error)
	Keep() error
	Rebuild(iter.Seq[weburl.Link], []seen.Mark) error
	Close() error
}

// page is the answer to a URL.
type page struct {
	status     int
	links      []string
	body       string // robots.txt; else a version of the page
	retryAfter time.Duration
	down       bool
	barred     bool // the crawl may not ask its address
	nobody     bool // there is nobody at its address
	long       bool // longer than a small limit
}

type later struct {
	at    time.Time
	event func() Event
}

const (
	answerTakes = 100 * time.Millisecond
	diskTakes   = 10 * time.Millisecond
)

func newWorld(t *testing.T) *world {
	w := &world{t: t, fs: vfs.NewMem(), web: map[string]*page{}, now: begin, turns: map[Turn]Fetch{}, seenLinks: 1000}
	ordering, err := frontier.ParseOrdering("cash-sum")
	if err != nil {
		t.Fatal(err)
	}
	w.settings = Settings{
		Scope: "site", Ordering: ordering, Delay: time.Second, PerConnection: 1, DiscoveryShare: 0.2, PagesPerSite: 1000,
		Retries: 2, RetryDelay: 30 * time.Second, Agent: "freshet", Partitions: 4, RobotsBytes: 1 << 20,
		OfferBytes: 1 << 20, GroupBytes: 1 << 20, Recalled: 1000, Second: time.Second,
	}
	t.Cleanup(w.close)
	return w
}

// open starts the crawl, from where it was left.
func (w *world) open() {
	var err error
	w.store, err = store.Open("data", store.Options{
		FS: w.fs, Partitions: w.settings.Partitions, CacheBytes: 1 << 20, Clock: clock.New(w.now, 1),
		WARC: store.WARCOptions{Host: "test"},
	})
	check(w.t, err)
	w.seen, err = seen.Open("data/seen", seen.Options{
		FS: w.fs, Partitions: w.settings.Partitions, Home: w.store.Home, CacheEntries: 1000, BufferLinks: w.seenLinks, Cash: true,
	})
	check(w.t, err)
	check(w.t, w.store.Heartbeat(w.now))
	w.shard, err = New(w.store, w.seen, w.settings, w.now)
	check(w.t, err)
	w.over = ""
	ready := false
	for i := 0; !ready && i < 1000; i++ {
		ready = w.step().Ready
	}
	if !ready {
		w.t.Fatal("the shard is not ready after a thousand steps")
	}
	w.tell(Begin{})
	w.tell(Room{8})
}

// stop closes the crawl. It loses whatever is in flight.
func (w *world) stop(clean bool) {
	if clean {
		w.tell(End{Signal})
		for i := 0; w.over == "" && i < 1000; i++ {
			w.step()
		}
		if w.shard.MayStopClean(w.now) {
			w.store.Settle()
		}
	}
	w.later, w.turns = nil, map[Turn]Fetch{}
	w.close()
}

func (w *world) close() {
	if w.shard == nil {
		return
	}
	w.shard.Close()
	w.shard = nil
	if err := w.seen.Close(); err != nil {
		w.t.Error(err)
	}
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
}

func (w *world) tell(e Event) { w.after(0, e) }

func (w *world) after(d time.Duration, e Event) { w.afterDoing(d, func() Event { return e }) }

// afterDoing runs do after a while and tells the shard the event that it returns.
func (w *world) afterDoing(d time.Duration, do func() Event) {
	w.later = append(w.later, later{w.now.Add(d), do})
	slices.SortStableFunc(w.later, func(a, b later) int { return a.at.Compare(b.at) })
}

// run lets a length of time pass.
func (w *world) run(d time.Duration) {
	end := w.now.Add(d)
	for w.over == "" {
		next := end
		if len(w.later) > 0 && w.later[0].at.Before(next) {
			next = w.later[0].at
		}
		if !w.wake.IsZero() && w.wake.Before(next) {
			next = w.wake
		}
		if next.After(w.now) {
			w.now = next
		}
		if !w.now.Before(end) {
			break
		}
		w.step()
	}
	w.now = end
}

// step tells the shard the next events and carries out what it asks for. If there are no events, time passes up to the
// next one.
func (w *world) step() Work {
	if len(w.later) > 0 && w.later[0].at.After(w.now) && w.shard.begun && w.over == "" && w.shard.ending != "" {
		w.now = w.later[0].at
	} else if len(w.later) > 0 && !w.shard.begun {
		w.now = maxTime(w.now, w.later[0].at)
	}
	var events []Event
	for len(w.later) > 0 && !w.later[0].at.After(w.now) {
		events = append(events, w.later[0].event())
		w.later = w.later[1:]
	}
	work, err := w.shard.Step(w.now, events...)
	check(w.t, err)
	w.wake = work.Wake
	w.do(work)
	return work
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (w *world) do(work Work) {
	for _, f := range work.Fetches {
		w.fetch(f)
	}
	for _, l := range work.Leaves {
		if l.Granted {
			w.answer(w.turns[l.Turn])
		}
	}
	for _, p := range work.Process {
		w.process(p)
	}
	if len(work.Append) > 0 {
		w.append(work.Append)
	}
	if work.Drain {
		verdicts, marks, err := w.seen.Drain(nil)
		check(w.t, err)
		w.after(diskTakes, Decided{verdicts, marks, w.seen.Marks()})
	}
	if work.Keep {
		check(w.t, w.seen.Keep())
		w.after(diskTakes, Kept{})
	}
	if work.Rebuild != nil {
		w.rebuild(work.Rebuild)
	}
	if work.Sort {
		w.after(diskTakes, Sorted{})
	}
	if work.Reweigh {
		w.after(diskTakes, Reweighed{})
	}
	if len(work.Weigh) > 0 {
		w.after(diskTakes, Weighed{})
	}
	if w.crew != nil {
		w.crew.carry(w, work)
		work.Replies = nil
	}
	for _, r := range work.Replies {
		text := fmt.Sprintf("reply %d", r.Count)
		for _, u := range slices.Sorted(maps.Keys(r.Refused)) {
			text += fmt.Sprintf(" %s: %s", u, r.Refused[u])
		}
		if r.Err != nil {
			text = r.Err.Error()
		}
		w.log(text)
	}
	for _, turn := range work.Done {
		delete(w.turns, turn)
	}
	if work.Over != "" {
		w.over = work.Over
		w.log("over: " + string(work.Over))
	}
}

func (w *world) log(text string) {
	if w.crew != nil {
		w.crew.log(w.settings.Name + " " + text)
		return
	}
	w.lines = append(w.lines, fmt.Sprintf("%s %s", w.now.Sub(begin).Round(time.Millisecond), text))
}

func (w *world) fetch(f Fetch) {
	w.turns[f.Turn] = f
	if f.AskLeave {
		w.after(0, Resolved{f.Turn, mustAddress(f.URL)})
		return
	}
	w.answer(f)
}

// answer answers a request.
func (w *world) answer(f Fetch) {
	at := w.web[f.URL.String()]
	e := Ended{Turn: f.Turn, Started: w.now, At: w.now.Add(answerTakes), Bytes: 100}
	status := http.StatusNotFound
	if at != nil {
		status = at.status
		e.RetryAfter = at.retryAfter
	}
	said := strconv.Itoa(status)
	if at != nil && at.down {
		status, said = 0, "down"
	}
	if at != nil && at.nobody {
		status, said = 0, "nobody"
	}
	barred := at != nil && at.barred
	if barred {
		status, said = 0, "barred"
	}
	e.Failed = status == 0 && !barred || status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests
	if f.Robots {
		record := &store.Robots{Site: f.Page.Site(), At: e.Started.UnixNano(), End: e.At.UnixNano(), Status: status, Outcome: store.OutcomeOf(status)}
		if status == 0 {
			record.Outcome = store.OutcomeFailed
		}
		e.Robots = &RobotsAnswer{Record: record}
		if barred {
			record.Outcome, e.Robots.Barred = store.OutcomeDenied, true
		}
		e.Robots.Nobody = said == "nobody"
		e.Robots.Reached = status != 0 && status < 500 && status != http.StatusTooManyRequests
		if status == http.StatusMovedPermanently {
			e.Robots.Reached, e.Robots.Redirect = false, parse(w.t, at.links[0])
		}
		if status == http.StatusOK {
			e.Robots.Body = []byte(at.body)
		}
	}
	w.log(fmt.Sprintf("GET %s %s", f.URL, said))
	if w.crew != nil {
		w.crew.asked(w, f.URL.Site().Host(), e)
	}
	w.after(answerTakes, e)
}

func (w *world) process(p Process) {
	e := Processed{Turn: p.Turn}
	if p.Robots == nil {
		f := w.turns[p.Turn]
		at := w.web[f.URL.String()]
		if at == nil {
			at = &page{status: http.StatusNotFound}
		}
		record := &store.Fetched{URL: p.URL, At: w.now.Add(-answerTakes).UnixNano(), End: w.now.UnixNano(), Status: at.status,
			Outcome: store.OutcomeOf(at.status), Unconditional: p.Audit}
		if at.down {
			record.Status, record.Outcome, record.Reason = 0, store.OutcomeFailed, "down"
		}
		if at.barred {
			record.Status, record.Outcome, record.Reason = 0, store.OutcomeDenied, "barred"
		}
		if at.long && w.settings.MaxBody < 1000 {
			record.Truncated, record.WireBytes = store.TruncatedLength, 100
		}
		if record.Outcome == store.OutcomeStored {
			record.ContentType = "text/html"
			sum := sha256.Sum256([]byte(at.body))
			copy(record.TextDigest[:], sum[:])
			copy(record.BodyDigest[:], sum[:])
			var out []store.OutLink
			for _, link := range at.links {
				out = append(out, store.NewOutLink(parse(w.t, link), 0, false, time.Time{}))
			}
			record.Links = store.EncodeLinks(out)
			e.Links = discovery.PageLinks(out, p.Row)
			discovery.Share(w.settings.Ordering, p.URL, e.Links)
		}
		e.Page, e.Class = record, fmt.Sprint(at.status/100, "xx")
	}
	w.after(0, e)
}

// append makes a group durable: at once, or after a while if the crew has a slow disk.
func (w *world) append(group []Append) {
	if w.crew == nil || w.crew.disk == nil {
		w.after(diskTakes, w.commit(group))
		return
	}
	slow := []time.Duration{diskTakes, diskTakes, diskTakes, 2 * time.Second}[w.crew.disk.IntN(4)]
	w.afterDoing(time.Duration(w.crew.disk.Int64N(int64(slow))), func() Event { return w.commit(group) })
}

func (w *world) commit(group []Append) Appended {
	done := Appended{At: make([]seen.Mark, len(group))}
	var fetches []store.Fetch
	var whose []int
	var turns, others []store.Record
	for i, a := range group {
		rest := a.Records
		if a.Turn != 0 && a.Refused == nil {
			fetches = append(fetches, store.Fetch{Record: rest[0], Owes: a.Owes})
			whose = append(whose, i)
			rest = rest[1:]
		}
		if a.Turn != 0 {
			turns = append(turns, rest...)
		} else {
			others = append(others, rest...)
		}
		if a.Purge != nil {
			before, err := w.store.Total()
			check(w.t, err)
			moves, err := w.store.BeginPurge(w.now, *a.Purge)
			check(w.t, err)
			after, err := w.store.Total()
			check(w.t, err)
			done.Others = append(done.Others, moves...)
			done.Purged += after.States[store.StatePurged] - before.States[store.StatePurged]
		}
	}
	if len(fetches) > 0 {
		moves, err := w.store.CommitPages(fetches)
		check(w.t, err)
		done.Turns = moves
		for i := range fetches {
			done.At[whose[i]] = seen.Mark{Partition: fetches[i].Partition, Record: fetches[i].Number}
		}
	}
	for _, some := range []struct {
		records []store.Record
		moves   *[]store.Move
	}{{turns, &done.Turns}, {others, &done.Others}} {
		if len(some.records) == 0 {
			continue
		}
		moves, err := w.store.Apply(some.records...)
		check(w.t, err)
		*some.moves = append(*some.moves, moves...)
	}
	if w.crew != nil {
		w.crew.checkMarks()
	}
	return done
}

func (w *world) rebuild(r *Rebuild) {
	var marks []seen.Mark
	for _, p := range r.Partitions {
		marks = append(marks, seen.Mark{Partition: p, Record: r.Linked[p]})
	}
	known := func(yield func(weburl.Link) bool) {
		for _, p := range r.Partitions {
			for row, err := range w.store.Pages(p) {
				check(w.t, err)
				if !yield(weburl.Link{URL: row.URL, Fingerprint: row.URL.Fingerprint(), Depth: row.Depth}) {
					return
				}
			}
		}
	}
	check(w.t, w.seen.Rebuild(known, marks))
	w.after(diskTakes, Rebuilt{})
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func parse(t *testing.T, text string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// order gives the shard an order, which it carries out at its next step.
func (w *world) order(o Order) {
	w.orders++
	w.tell(Ordered{w.orders, o})
}
