package seen

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"freshet/weburl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// page returns the link to page n of a site. Its fingerprint is n.
func page(n int) weburl.Link {
	u, err := weburl.Parse(fmt.Sprintf("https://alder.test/page/%d", n))
	if err != nil {
		panic(err)
	}
	return weburl.Link{URL: u, Fingerprint: weburl.Fingerprint(n), Depth: 1, Cash: 1, Rel: weburl.RelAnchor}
}

func pages(numbers ...int) []weburl.Link {
	var links []weburl.Link
	for _, n := range numbers {
		links = append(links, page(n))
	}
	return links
}

func open(t testing.TB, opt Options) *Test {
	t.Helper()
	if opt.FS == nil {
		opt.FS = vfs.NewMem()
	}
	test, err := Open("seen", opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := test.Close(); err != nil {
			t.Error(err)
		}
	})
	return test
}

func offer(t testing.TB, test *Test, mark Mark, links ...weburl.Link) {
	t.Helper()
	if err := test.Offer(mark, links, epoch); err != nil {
		t.Fatal(err)
	}
}

// drain returns the verdicts as words: "+3" for a new page 3, "3" for a known one.
func drain(t testing.TB, test *Test) string {
	t.Helper()
	verdicts, _, err := test.Drain(nil)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, v := range verdicts {
		word := fmt.Sprint(uint64(v.Link.Fingerprint))
		if v.New {
			word = "+" + word
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestNewOnceInOrderOfDiscovery(t *testing.T) {
	test := open(t, Options{})
	offer(t, test, Mark{}, pages(9, 3, 9, 7)...)
	offer(t, test, Mark{}, pages(3, 1)...)
	if got, want := drain(t, test), "+9 +3 +7 +1"; got != want {
		t.Errorf("first: %q, want %q", got, want)
	}
	offer(t, test, Mark{}, pages(2, 9, 4)...)
	if got, want := drain(t, test), "+2 +4"; got != want {
		t.Errorf("before Keep: %q, want %q", got, want)
	}
	if err := test.Keep(); err != nil {
		t.Fatal(err)
	}
	offer(t, test, Mark{}, pages(1, 5, 2)...)
	if got, want := drain(t, test), "+5"; got != want {
		t.Errorf("after Keep: %q, want %q", got, want)
	}
	if got := test.Known(); got != 7 {
		t.Errorf("Known() = %d, want 7", got)
	}
}

// TestCashComesInLots holds that the test adds up the cash of links to a page. It tells a known page of its cash when
// that has doubled, and not before.
func TestCashComesInLots(t *testing.T) {
	test := open(t, Options{Cash: true})
	first, second := page(1), page(1)
	first.Depth, first.Hops, first.Cash = 4, 2, 0.5
	second.Depth, second.Hops, second.Cash, second.Rel = 6, 1, 0.5, weburl.RelFrame
	both, one, two := first, second, second // the lots come with the second link
	both.Hops, both.Cash, one.Cash, two.Cash = 1, 1, 1, 2
	var told float64
	for i, want := range [][]Verdict{{{Link: both, New: true}}, {{Link: one}}, nil, {{Link: two}}} {
		offer(t, test, Mark{}, first, second)
		got, _, err := test.Drain(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range got {
			told += v.Link.Cash
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(weburl.URL{})); diff != "" {
			t.Errorf("drain %d (-want +got):\n%s", i, diff)
		}
	}
	if told != 4 {
		t.Errorf("cash %v told, want all 4", told)
	}
}

func TestLowerDepthPasses(t *testing.T) {
	fs := vfs.NewMem()
	at := func(depth uint16) weburl.Link { l := page(1); l.Depth = depth; return l }
	test, err := Open("seen", Options{FS: fs, CacheEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		link weburl.Link
		want string
	}{
		{at(7), "+1"}, {at(7), ""}, {at(9), ""}, {at(6), "1"}, {at(6), ""},
		{page(2), "+2"}, // and page 1 out of the cache
		{at(8), ""}, {at(7), ""}, {at(5), "1"}, {at(5), ""},
	}
	for i, s := range steps {
		offer(t, test, Mark{}, s.link)
		if got := drain(t, test); got != s.want {
			t.Errorf("step %d, depth %d: %q, want %q", i, s.link.Depth, got, s.want)
		}
	}
	if err := errors.Join(test.Keep(), test.Close()); err != nil {
		t.Fatal(err)
	}
	again := open(t, Options{FS: fs})
	offer(t, again, Mark{}, at(5))
	offer(t, again, Mark{}, at(9))
	if got := drain(t, again); got != "" {
		t.Errorf("depth 5 after reopening: %q, want nothing", got)
	}
	offer(t, again, Mark{}, at(4))
	if got := drain(t, again); got != "1" {
		t.Errorf("depth 4 after reopening: %q, want 1", got)
	}
}

func TestFull(t *testing.T) {
	test := open(t, Options{BufferLinks: 3})
	offer(t, test, Mark{0, 1}, pages(1, 2)...)
	if err := test.Offer(Mark{0, 2}, pages(3, 4), epoch); !errors.Is(err, ErrFull) {
		t.Fatalf("4 links in a buffer of 3: %v, want ErrFull", err)
	}
	verdicts, marks, err := test.Drain(nil)
	if err != nil || len(verdicts) != 2 || !slices.Equal(marks, []Mark{{0, 1}}) {
		t.Fatalf("Drain = %v, %v, %v: want pages 1 and 2, and the mark of their record", verdicts, marks, err)
	}
	offer(t, test, Mark{0, 2}, pages(3, 4, 5, 6, 7)...) // more than fits, but nothing else waits
	if got, want := drain(t, test), "+3 +4 +5 +6 +7"; got != want {
		t.Errorf("large batch: %q, want %q", got, want)
	}
}

func TestFullOfBytes(t *testing.T) {
	test := open(t, Options{BufferLinks: 10})
	long := func(n int) weburl.Link {
		l := page(n)
		u, err := l.URL.Parse(strings.Repeat("x", 5*usualBytes))
		if err != nil {
			t.Fatal(err)
		}
		l.URL = u
		return l
	}
	offer(t, test, Mark{}, long(1))
	if err := test.Offer(Mark{}, []weburl.Link{long(2)}, epoch); !errors.Is(err, ErrFull) {
		t.Errorf("two long URLs: %v, want ErrFull", err)
	}
	if !test.Due(epoch, 0) {
		t.Error("a buffer full of bytes is not due")
	}
}

func TestDue(t *testing.T) {
	test := open(t, Options{BufferLinks: 4, MaxWait: time.Second})
	due := func(after time.Duration, want bool) {
		t.Helper()
		if got := test.Due(epoch.Add(after), 0); got != want {
			t.Errorf("Due after %v = %v, want %v", after, got, want)
		}
	}
	due(time.Hour, false) // nothing waits
	offer(t, test, Mark{}, page(1))
	due(999*time.Millisecond, false)
	due(time.Second, true)
	if later := epoch.Add(time.Second); test.Due(later, 2*time.Second) {
		t.Error("a link that waited a second of two is due")
	}
	offer(t, test, Mark{}, pages(2, 3)...)
	due(0, true) // more than half full
	drain(t, test)
	due(time.Hour, false)
	offer(t, test, Mark{0, 1}, page(1)) // known, but its record wants to be marked
	due(0, false)
	due(time.Second, true)
}

// TestDueByDoubt holds that a drain is due if enough waiting links may be new. Links that only bring cash do not count.
// If at least as many links repeat waiting ones as are in doubt, the drain waits for more.
func TestDueByDoubt(t *testing.T) {
	test := open(t, Options{DrainLinks: 2, MaxWait: time.Second, Cash: true})
	due := func(want bool, why string) {
		t.Helper()
		if got := test.Due(epoch, 0); got != want {
			t.Errorf("Due = %v, want %v: %s", got, want, why)
		}
	}
	offer(t, test, Mark{}, page(1))
	drain(t, test)
	known := page(1)
	known.Cash = 1
	offer(t, test, Mark{}, known, page(2))
	due(false, "one link of two is in doubt")
	offer(t, test, Mark{}, page(3))
	due(true, "two links are in doubt")
	richer := page(3)
	richer.Cash = 1
	offer(t, test, Mark{}, richer)
	richer.Cash = 2
	offer(t, test, Mark{}, richer)
	due(false, "as many have been joined to them")
	offer(t, test, Mark{}, page(4))
	due(true, "more are in doubt than were joined")
}

func TestMarks(t *testing.T) {
	fs := vfs.NewCrashableMem()
	test := open(t, Options{FS: fs})
	if !test.Lost() {
		t.Error("a set rebuilt is not lost")
	}
	offer(t, test, Mark{3, 10})
	offer(t, test, Mark{1, 7}, page(1))
	offer(t, test, Mark{3, 11}, page(2))
	_, marks, err := test.Drain(nil)
	if want := []Mark{{1, 7}, {3, 11}}; err != nil || !slices.Equal(marks, want) {
		t.Errorf("Drain: marks %v, %v; want %v", marks, err, want)
	}
	if got := test.Marks(); len(got) != 0 {
		t.Errorf("Marks before Keep = %v, want none", got)
	}
	if err := test.Keep(); err != nil {
		t.Fatal(err)
	}
	offer(t, test, Mark{1, 8}, page(3))
	drain(t, test) // and crash

	again := open(t, Options{FS: fs.CrashClone(vfs.CrashCloneCfg{})})
	if again.Lost() {
		t.Error("a set that was kept is lost")
	}
	if got, want := again.Marks(), []Mark{{1, 7}, {3, 11}}; !slices.Equal(got, want) {
		t.Errorf("Marks after a crash = %v, want %v", got, want)
	}
	offer(t, again, Mark{1, 8}, pages(1, 2, 3)...)
	if got, want := drain(t, again), "+3"; got != want {
		t.Errorf("after a crash: %q, want %q", got, want)
	}
}

func TestRebuild(t *testing.T) {
	fs := vfs.NewMem()
	test := open(t, Options{FS: fs})
	offer(t, test, Mark{1, 5}, pages(1, 2)...)
	drain(t, test)
	if err := test.Keep(); err != nil {
		t.Fatal(err)
	}
	offer(t, test, Mark{1, 6}, page(4))
	rows := func(yield func(weburl.Link) bool) {
		for n := range 2*rebuildBatch + 100 { // every page twice, at depths 2 and 3
			link := page(10 + n/2)
			link.Depth = uint16(2 + n%2)
			if !yield(link) {
				return
			}
		}
	}
	if err := test.Rebuild(rows, []Mark{{2, 9}}); err != nil {
		t.Fatal(err)
	}
	if got, want := test.Known(), int64(rebuildBatch+50); got != want {
		t.Errorf("Known() = %d, want %d", got, want)
	}
	if got, want := test.Marks(), []Mark{{2, 9}}; !slices.Equal(got, want) {
		t.Errorf("Marks() = %v, want %v", got, want)
	}
	offer(t, test, Mark{}, pages(1, 10, 9, 10+rebuildBatch, 10+rebuildBatch+50)...)
	if got, want := drain(t, test), fmt.Sprintf("+4 +1 10 +9 %d +%d", 10+rebuildBatch, 10+rebuildBatch+50); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCollision holds that two URLs with one fingerprint stay two: in one batch, in the cache, on disk and after a
// rebuild.
func TestCollision(t *testing.T) {
	fs := vfs.NewMem()
	a, b, c := page(1), page(2), page(3)
	b.Fingerprint, c.Fingerprint = a.Fingerprint, a.Fingerprint
	urls := func(verdicts []Verdict) (text string) {
		for _, v := range verdicts {
			text += fmt.Sprintf(" %s=%v", v.Link.URL.Path(), v.New)
		}
		return text
	}
	for step, s := range []struct {
		offer []weburl.Link
		want  string
	}{
		{[]weburl.Link{a}, " /page/1=true"},
		{[]weburl.Link{b, a, b}, " /page/2=true"},
		{[]weburl.Link{a, b, c}, " /page/3=true"},
		{[]weburl.Link{a, b, c}, ""},
	} {
		test, err := Open("seen", Options{FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		offer(t, test, Mark{}, s.offer...)
		verdicts, _, err := test.Drain(nil)
		if got := urls(verdicts); err != nil || got != s.want {
			t.Errorf("step %d: %q, %v; want %q", step, got, err, s.want)
		}
		if err := errors.Join(test.Keep(), test.Close()); err != nil {
			t.Fatal(err)
		}
	}
	test := open(t, Options{FS: fs})
	if err := test.Rebuild(slices.Values([]weburl.Link{c, a, c}), nil); err != nil {
		t.Fatal(err)
	}
	offer(t, test, Mark{}, a, b, c)
	verdicts, _, err := test.Drain(nil)
	if got, want := urls(verdicts), " /page/2=true"; err != nil || got != want || test.Known() != 3 {
		t.Errorf("after a rebuild: %q, %v, %d known; want %q and 3", got, err, test.Known(), want)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := Open("seen", Options{FS: vfs.NewMem(), CacheEntries: -1, BufferLinks: -2, MaxWait: -3, DrainLinks: -4})
	for _, fault := range []string{"cache of -1", "buffer of -2", "wait -3ns", "drain of -4"} {
		if err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("Open: %v: want it to mention %q", err, fault)
		}
	}
}

// model is the specification of a Test, with maps.
type model struct {
	durable, decided map[weburl.Fingerprint]uint16 // decided: durable and more
	durableMarks     map[weburl.Partition]uint64
	decidedMarks     map[weburl.Partition]uint64
	pending          []Verdict // in order of first offer
	pendingMarks     map[weburl.Partition]uint64
	cash             map[weburl.Fingerprint]float64 // offered and not told
}

func newModel() *model {
	return &model{
		durable: map[weburl.Fingerprint]uint16{}, decided: map[weburl.Fingerprint]uint16{},
		durableMarks: map[weburl.Partition]uint64{}, decidedMarks: map[weburl.Partition]uint64{},
		pendingMarks: map[weburl.Partition]uint64{}, cash: map[weburl.Fingerprint]float64{},
	}
}

func (m *model) offer(mark Mark, links []weburl.Link) {
	m.pendingMarks[mark.Partition] = mark.Record
	for _, l := range links {
		m.cash[l.Fingerprint] += l.Cash
		i := slices.IndexFunc(m.pending, func(v Verdict) bool { return v.Link.Fingerprint == l.Fingerprint })
		if i < 0 {
			m.pending = append(m.pending, Verdict{Link: l})
			continue
		}
		have := &m.pending[i].Link
		have.Depth = min(have.Depth, l.Depth)
	}
}

// drain returns the verdicts that every Test must give: about new pages and lower depths.
func (m *model) drain() (verdicts []Verdict, marks []Mark) {
	for _, v := range m.pending {
		fp := v.Link.Fingerprint
		lowest, known := m.decided[fp]
		v.New = !known
		if !known || v.Link.Depth < lowest {
			m.decided[fp] = v.Link.Depth
			verdicts = append(verdicts, v)
		}
	}
	marks = sortedMarks(m.pendingMarks)
	maps.Copy(m.decidedMarks, m.pendingMarks)
	m.pending, m.pendingMarks = nil, map[weburl.Partition]uint64{}
	return verdicts, marks
}

func (m *model) keep() {
	m.durable, m.durableMarks = maps.Clone(m.decided), maps.Clone(m.decidedMarks)
}

func (m *model) crash() {
	m.decided, m.decidedMarks = maps.Clone(m.durable), maps.Clone(m.durableMarks)
	m.pending, m.pendingMarks = nil, map[weburl.Partition]uint64{}
}

// links yields the decided links.
func (m *model) links() iter.Seq[weburl.Link] {
	return func(yield func(weburl.Link) bool) {
		for fp, depth := range m.decided {
			link := page(int(fp))
			link.Depth = depth
			if !yield(link) {
				return
			}
		}
	}
}

// tell takes the verdicts' cash from the offered cash. It returns the verdicts about new pages and lower depths. Before
// holds the depths that were decided earlier.
func (m *model) tell(t *rapid.T, verdicts []Verdict, before map[weburl.Fingerprint]uint16) (rest []Verdict) {
	for _, v := range verdicts {
		fp := v.Link.Fingerprint
		if m.cash[fp] -= v.Link.Cash; m.cash[fp] < 0 {
			t.Fatalf("page %d is told of %v more cash than it was offered", fp, -m.cash[fp])
		}
		if lowest, known := before[fp]; !known || v.Link.Depth < lowest {
			rest = append(rest, v)
		}
	}
	return rest
}

// promised reduces verdicts to what a Test promises, without cash and hops: the new URLs in order, and the lower depths
// of known ones in any order.
func promised(verdicts []Verdict) []Verdict {
	var fresh, lower []Verdict
	for _, v := range verdicts {
		v.Link.Cash, v.Link.Hops, v.Link.LastMod = 0, 0, 0
		if v.New {
			fresh = append(fresh, v)
		} else {
			lower = append(lower, v)
		}
	}
	slices.SortFunc(lower, func(a, b Verdict) int { return int(a.Link.Fingerprint) - int(b.Link.Fingerprint) })
	return append(fresh, lower...)
}

func TestLikeModel(t *testing.T) {
	link := rapid.Custom(func(t *rapid.T) weburl.Link {
		l := page(rapid.IntRange(1, 12).Draw(t, "page"))
		l.Depth = uint16(rapid.IntRange(0, 4).Draw(t, "depth"))
		l.Hops = uint8(rapid.IntRange(0, 2).Draw(t, "hops"))
		l.LastMod = rapid.Int64Range(0, 3).Draw(t, "lastmod")
		l.Cash = float64(rapid.IntRange(0, 8).Draw(t, "cash"))
		return l
	})
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewCrashableMem()
		opt := Options{
			FS:           fs,
			CacheEntries: rapid.IntRange(1, 10).Draw(t, "cache"),
			BufferLinks:  rapid.IntRange(1, 10).Draw(t, "buffer"),
			Cash:         rapid.Bool().Draw(t, "cash too"),
		}
		test, err := Open("seen", opt)
		must(t, err)
		defer func() { test.Close() }()
		m := newModel()
		record := uint64(0)
		drain := func(t *rapid.T) {
			before := maps.Clone(m.decided)
			want, wantMarks := m.drain()
			got, gotMarks, err := test.Drain(nil)
			must(t, err)
			if !opt.Cash && slices.ContainsFunc(got, func(v Verdict) bool { return v.Link.Cash != 0 }) {
				t.Fatalf("cash that was not asked for: %v", got)
			}
			if diff := cmp.Diff(promised(want), promised(m.tell(t, got, before)), cmp.AllowUnexported(weburl.URL{})); diff != "" {
				t.Fatalf("verdicts (-want +got):\n%s", diff)
			}
			if !slices.Equal(gotMarks, wantMarks) {
				t.Fatalf("marks %v, want %v", gotMarks, wantMarks)
			}
		}
		reopen := func(t *rapid.T) {
			test, err = Open("seen", opt)
			must(t, err)
			m.crash()
			if got, want := test.Marks(), sortedMarks(m.durableMarks); !slices.Equal(got, want) {
				t.Fatalf("marks %v, want %v", got, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"offer": func(t *rapid.T) {
				record++
				mark := Mark{weburl.Partition(record % 3), record}
				links := rapid.SliceOfN(link, 0, 8).Draw(t, "links")
				err := test.Offer(mark, links, epoch)
				if errors.Is(err, ErrFull) {
					drain(t)
					err = test.Offer(mark, links, epoch)
				}
				must(t, err)
				m.offer(mark, links)
			},
			"drain": drain,
			"keep": func(t *rapid.T) {
				must(t, test.Keep())
				m.keep()
			},
			"close": func(t *rapid.T) {
				must(t, test.Close())
				reopen(t)
			},
			"crash": func(t *rapid.T) {
				opt.FS = fs.CrashClone(vfs.CrashCloneCfg{})
				fs = opt.FS.(*vfs.MemFS)
				must(t, test.Close())
				reopen(t)
			},
			"rebuild": func(t *rapid.T) {
				marks := sortedMarks(m.decidedMarks)
				must(t, test.Rebuild(m.links(), marks))
				m.keep() // pending links stay pending
			},
			"": func(t *rapid.T) {
				if got, want := test.Known(), int64(len(m.decided)); got != want {
					t.Fatalf("Known() = %d, want %d", got, want)
				}
			},
		})
	})
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// TestOfferWhileDraining has one goroutine offer links while another drains and keeps. Every page is new once.
func TestOfferWhileDraining(t *testing.T) {
	const batches, perBatch = 200, 10
	test := open(t, Options{BufferLinks: 50, CacheEntries: 16})
	offered := make(chan struct{})
	go func() {
		defer close(offered)
		for i := range batches {
			var links []weburl.Link
			for j := range perBatch {
				links = append(links, page(1+(i*perBatch+j)/2)) // each twice
			}
			for errors.Is(test.Offer(Mark{0, uint64(i + 1)}, links, epoch), ErrFull) {
				runtime.Gosched()
			}
		}
	}()
	var fresh []weburl.Fingerprint
	for last := false; !last; {
		select {
		case <-offered:
			last = true
		default:
		}
		verdicts, _, err := test.Drain(nil)
		if err := errors.Join(err, test.Keep()); err != nil {
			t.Fatal(err)
		}
		for _, v := range verdicts {
			if v.New {
				fresh = append(fresh, v.Link.Fingerprint)
			}
		}
	}
	if len(fresh) != batches*perBatch/2 || !slices.IsSorted(fresh) || len(slices.Compact(fresh)) != batches*perBatch/2 {
		t.Errorf("%d new pages, want %d, each once and in order", len(fresh), batches*perBatch/2)
	}
	if got, want := test.Marks(), []Mark{{0, batches}}; !slices.Equal(got, want) {
		t.Errorf("Marks = %v, want %v", got, want)
	}
}
