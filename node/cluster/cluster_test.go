package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/allocate"
	"freshet/clock"
	"freshet/crawl"
	"freshet/crawl/share"
	"freshet/log"
	"freshet/objects"
	"freshet/refresh"
	"freshet/store"
	"freshet/weburl"
)

var (
	firstSeed = flag.Uint64("cluster.seed", 0, "the first seed of the small clusters that are simulated")
	seeds     = flag.Uint64("cluster.seeds", 20, "how many there are")
)

// world is what the nodes of a simulated cluster share, in virtual time. Its servers lose answers, answer late and can
// be cut off. It knows the truth: the nodes that have each partition.
type world struct {
	t     *testing.T
	seed  uint64
	plant string // a fault that is put in: what is found is noted; "": none, what is found fails the test
	found string // what was found first
	calm  bool   // nothing is lost, and nothing very late

	mu      sync.Mutex
	rng     *rand.Rand
	entries map[string]entry
	last    uint64 // revision
	watches []*watcher
	logs    map[weburl.Partition][]log.Read
	dropped map[weburl.Partition]uint64   // the last entry that no log has any more
	damaged map[weburl.Partition]string   // the last snapshot that was damaged
	cut     map[string]bool               // nodes that no server answers
	holders map[weburl.Partition][]string // who has each partition
	acked   map[weburl.Partition][][]byte // what was acknowledged, in order
	moved   int

	heard   map[string]map[*heard]bool // who hears what, by subject
	inboxes map[string]chan *nats.Msg  // of requests that wait for an answer
	done    map[string]int             // orders that were carried out, by their page
	obeyed  int                        // orders that were answered
	paused  bool                       // the whole crawl is, for all that nodes were told
	most    int                        // pages that all nodes together may store
	stored  int
	objects objects.Store
	slow    bool // a snapshot takes as long as it may
	disks   map[string]*disk
	loads   int // snapshots that nodes have loaded
	behind  int // … in the place of what they had
	older   int // … that were not the last ones

	wide       int                         // appends that held data of several partitions
	parted     int                         // data in several entries that were acknowledged
	evened     int                         // times the partitions were divided by their pages
	downs      map[weburl.Partition]uint64 // the place before the last take-down
	unreadable string                      // objects whose names begin so; "": none
	silent     map[weburl.Partition]bool   // whose logs no server answers for
	leaderless map[weburl.Partition]bool   // whose logs take no entries
	barred     map[string]weburl.Partition // of which a node can load no snapshot
	damage     map[string]weburl.Partition // … of which it can apply nothing
	copies     int                         // nodes that have each partition; 0: all
	seeded     int                         // sites with seeds in each partition
	loading    time.Duration               // of a snapshot
	every      time.Duration               // between snapshots of a partition
	budgets    map[string]int64            // requests that each node was granted last
}

// disk is what a node keeps when it ends.
type disk struct {
	places map[weburl.Partition]log.Place
	read   map[weburl.Partition]int // data that were followed
}

func newWorld(t *testing.T, seed uint64, plant string) *world {
	bucket, err := objects.Open(vfs.NewMem(), "objects")
	if err != nil {
		t.Fatal(err)
	}
	return &world{
		objects: bucket, seeded: 1, every: 20 * time.Second, budgets: map[string]int64{},
		t: t, seed: seed, plant: plant, rng: rand.New(rand.NewPCG(seed, 1)), entries: map[string]entry{}, logs: map[weburl.Partition][]log.Read{},
		cut: map[string]bool{}, holders: map[weburl.Partition][]string{}, acked: map[weburl.Partition][][]byte{},
		dropped: map[weburl.Partition]uint64{}, damaged: map[weburl.Partition]string{}, disks: map[string]*disk{}, barred: map[string]weburl.Partition{}, damage: map[string]weburl.Partition{},
		heard: map[string]map[*heard]bool{}, inboxes: map[string]chan *nats.Msg{}, done: map[string]int{}, downs: map[weburl.Partition]uint64{},
	}
}

// fault notes that something is wrong. The caller holds the world's lock.
func (w *world) fault(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if w.found == "" {
		w.found = text
	}
	if w.plant == "" {
		w.t.Errorf("seed %d: %s", w.seed, text)
	}
}

func (w *world) chance(of int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.one(of)
}

// one is chance where the world's lock is held.
func (w *world) one(of int) bool { return !w.calm && w.rng.IntN(of) == 0 }

func (w *world) upTo(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rng.Int64N(int64(d)))
}

// ask takes the time of a request of a node to the servers. It fails where the node is cut off, and now and then.
func (w *world) ask(ctx context.Context, node string) error {
	if err := clock.Real().Sleep(ctx, w.upTo(20*time.Millisecond)); err != nil {
		return err
	}
	w.mu.Lock()
	cut := w.cut[node] || w.one(50)
	w.mu.Unlock()
	if cut {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// answer carries an answer back, and may lose it.
func (w *world) answer(ctx context.Context) error {
	if w.chance(50) {
		<-ctx.Done()
		return ctx.Err()
	}
	return ctx.Err()
}

// overtaken reports whether a request is late: it reaches the servers when nobody waits for its answer any more and
// others have written meanwhile. Few requests are.
func (w *world) overtaken(do func()) bool {
	if !w.chance(200) {
		return false
	}
	time.AfterFunc(answerTime+w.upTo(30*time.Second), do)
	return true
}

// entry is an entry of the bucket.
type entry struct {
	jetstream.KeyValueEntry
	key      string
	value    []byte
	revision uint64
	created  time.Time
}

func (e entry) Key() string        { return e.key }
func (e entry) Value() []byte      { return e.value }
func (e entry) Revision() uint64   { return e.revision }
func (e entry) Created() time.Time { return e.created }

// bucketOf is the bucket as a node sees it.
type bucketOf struct {
	*world
	node string
}

func (b bucketOf) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	if err := b.ask(ctx, b.node); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.entries[key]
	if !ok {
		return nil, jetstream.ErrKeyNotFound
	}
	return e, nil
}

func (b bucketOf) Create(ctx context.Context, key string, value []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	return b.Update(ctx, key, value, 0)
}

func (b bucketOf) Update(ctx context.Context, key string, value []byte, behind uint64) (uint64, error) {
	if err := b.ask(ctx, b.node); err != nil {
		return 0, err
	}
	value = slices.Clone(value)
	if b.overtaken(func() { _, _ = b.update(key, value, behind) }) {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	revision, err := b.update(key, value, behind)
	if err != nil {
		return 0, err
	}
	return revision, b.answer(ctx)
}

// update is the server's part of the request.
func (b bucketOf) update(key string, value []byte, behind uint64) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.entries[key].revision != behind && b.plant != "bucket-without-fence" {
		return 0, jetstream.ErrKeyExists
	}
	b.last++
	e := entry{key: key, value: value, revision: b.last, created: clock.Real().Now()}
	b.entries[key] = e
	for _, w := range b.watches {
		w.tell(e)
	}
	return e.revision, nil
}

func (b bucketOf) WatchAll(ctx context.Context, _ ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &watcher{of: b.world, node: b.node, updates: make(chan jetstream.KeyValueEntry, 1<<16)}
	for _, e := range b.entries {
		w.tell(e)
	}
	b.watches = append(b.watches, w)
	return w, nil
}

// watcher tells of entries late, each by itself: they may overtake one another. Now and then it tells nothing for a
// while.
type watcher struct {
	of      *world
	node    string
	updates chan jetstream.KeyValueEntry
	stalled time.Time
}

func (w *watcher) tell(e entry) {
	if w.of.plant == "layout-not-heard" && w.node == "b" && e.key == layoutKey {
		return
	}
	now := clock.Real().Now()
	if w.of.one(300) {
		w.stalled = now.Add(time.Duration(w.of.rng.Int64N(int64(20 * time.Second))))
	}
	late := time.Duration(w.of.rng.Int64N(int64(300 * time.Millisecond)))
	time.AfterFunc(max(late, w.stalled.Sub(now)), func() { w.updates <- e })
}

func (w *watcher) Updates() <-chan jetstream.KeyValueEntry { return w.updates }
func (w *watcher) Stop() error                             { return nil }

func (b bucketOf) Keys(ctx context.Context) (keys []string, now time.Time, err error) {
	if err := b.ask(ctx, b.node); err != nil {
		return nil, now, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.entries)), time.Now(), nil
}

// logOf is the log as a node sees it.
type logOf struct {
	*world
	node string
}

func (l logOf) Append(ctx context.Context, p weburl.Partition, after log.Place, e log.Entry) (log.Place, error) {
	_, chain, err := log.Seal(after, e)
	if err != nil {
		return after, err
	}
	if e.More && l.plant == "part-lost" && l.chance(10) {
		return after, nil
	}
	for ctx.Err() == nil {
		within, cancel := context.WithTimeout(ctx, answerTime)
		at, done, err := l.try(within, p, after, chain, e)
		cancel()
		if done {
			return at, err
		}
	}
	return after, ctx.Err()
}

func (l logOf) try(ctx context.Context, p weburl.Partition, after log.Place, chain log.Chain, e log.Entry) (at log.Place, done bool, err error) {
	l.mu.Lock()
	leaderless := l.leaderless[p]
	l.mu.Unlock()
	if leaderless {
		<-ctx.Done()
		return after, false, nil
	}
	if l.ask(ctx, l.node) != nil {
		return after, false, nil
	}
	if l.overtaken(func() { _, _ = l.append(p, after, chain, e) }) {
		<-ctx.Done()
		return after, false, nil
	}
	if at, err = l.append(p, after, chain, e); err != nil {
		return after, true, err
	}
	return at, l.answer(ctx) == nil, nil
}

// append is the server's part of the request.
func (l logOf) append(p weburl.Partition, after log.Place, chain log.Chain, e log.Entry) (at log.Place, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.logs[p]
	n := uint64(len(all))
	at = log.Place{Seq: after.Seq + 1, Chain: chain}
	switch {
	case n > after.Seq && all[after.Seq].At == at: // ours, of a try before
		return at, nil
	case l.plant == "log-without-fence":
		at.Seq = n + 1
	case n != after.Seq:
		return after, log.ErrDeposed
	}
	l.logs[p] = append(all, log.Read{At: at, Entry: e})
	return at, nil
}

func (l logOf) Late(p weburl.Partition) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leaderless[p] {
		return errors.New("its stream has no leader")
	}
	return nil
}

func (l logOf) Read(ctx context.Context, p weburl.Partition, after log.Place) iter.Seq2[log.Read, error] {
	return func(yield func(log.Read, error) bool) {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		if err := l.ask(ctx, l.node); err != nil {
			yield(log.Read{}, err)
			return
		}
		l.mu.Lock()
		silent := l.silent[p]
		l.mu.Unlock()
		if silent {
			yield(log.Read{}, nats.ErrNoResponders)
			return
		}
		l.mu.Lock()
		from := max(after.Seq, l.dropped[p])
		rest := slices.Clone(l.logs[p][min(from, uint64(len(l.logs[p]))):])
		if l.one(20) { // the server that answers lags behind
			rest = rest[:l.rng.IntN(len(rest)+1)]
		}
		l.mu.Unlock()
		if from > after.Seq && len(rest) > 0 && l.plant != "gap-not-seen" {
			yield(log.Read{}, log.ErrTruncated)
			return
		}
		for _, r := range rest {
			if r.Taken && l.plant == "part-kept-of-who-was-deposed" {
				r.Entry = log.Entry{Owner: r.Owner, More: true}
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (l logOf) Truncate(ctx context.Context, p weburl.Partition, at log.Place) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := l.ask(ctx, l.node); err != nil {
		return err
	}
	if l.overtaken(func() { l.truncate(p, at) }) {
		<-ctx.Done()
		return ctx.Err()
	}
	l.truncate(p, at)
	return l.answer(ctx)
}

// truncate is the server's part of the request.
func (l logOf) truncate(p weburl.Partition, at log.Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	upTo := at.Seq - 1
	if l.plant == "truncated-above-the-snapshot" {
		upTo = uint64(len(l.logs[p])) - 1
	}
	l.dropped[p] = max(l.dropped[p], upTo)
	if len(l.whole(p)) == 0 {
		l.fault("the log of partition %d begins behind entry %d, and no snapshot leads to it", p, l.dropped[p])
	}
}

// objectsOf is the object store as a node sees it.
type objectsOf struct {
	*world
	objects.Store
	node string
}

// objectTime is how long is waited for an answer of the object store.
const objectTime = 10 * time.Second

func (o objectsOf) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, objectTime)
	defer cancel()
	return o.world.ask(ctx, o.node)
}

func (o objectsOf) Put(ctx context.Context, name string, from io.ReaderAt, size int64) (sum objects.Sum, err error) {
	if err := o.ask(ctx); err != nil {
		return sum, err
	}
	sum, err = o.Store.Put(ctx, name, from, size)
	return sum, errors.Join(err, o.answer(ctx))
}

func (o objectsOf) answer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, objectTime)
	defer cancel()
	return o.world.answer(ctx)
}

func (o objectsOf) ReadAt(ctx context.Context, name string, p []byte, offset int64) (int, error) {
	if err := o.ask(ctx); err != nil {
		return 0, err
	}
	o.mu.Lock()
	unreadable := o.unreadable
	o.mu.Unlock()
	if unreadable != "" && strings.HasPrefix(name, unreadable) {
		return 0, errors.New("the object is damaged")
	}
	return o.Store.ReadAt(ctx, name, p, offset)
}

func (o objectsOf) List(ctx context.Context, prefix string) iter.Seq2[objects.Object, error] {
	return func(yield func(objects.Object, error) bool) {
		if err := o.ask(ctx); err != nil {
			yield(objects.Object{}, err)
			return
		}
		for one, err := range o.Store.List(ctx, prefix) {
			if !yield(one, err) {
				return
			}
		}
	}
}

func (o objectsOf) Remove(ctx context.Context, name string) error {
	if err := o.ask(ctx); err != nil {
		return err
	}
	return errors.Join(o.Store.Remove(ctx, name), o.answer(ctx))
}

// spoil makes the last snapshot of a partition unreadable, if another snapshot leads to the log. The one before stays
// whole, since a truncation may rely on it.
func (w *world) spoil(p weburl.Partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.whole(p)
	if len(all) < 2 {
		return
	}
	last := all[len(all)-1]
	if last.Name <= w.damaged[p] {
		return
	}
	w.damaged[p] = last.Name
	if _, err := w.objects.Put(context.Background(), last.Name, strings.NewReader("{"), 1); err != nil {
		w.t.Error(err)
	}
}

// whole returns the snapshots of a partition that can be read and lead to the log, the last one last. The world's lock
// is held.
func (w *world) whole(p weburl.Partition) (all []objects.Object) {
	for o, err := range w.objects.List(context.Background(), fmt.Sprintf("partitions/test/%05d/", p)) {
		if err != nil {
			w.t.Error(err)
			return nil
		}
		var s saved
		if json.NewDecoder(objects.Reader(context.Background(), w.objects, o.Name, o.Bytes)).Decode(&s) == nil && s.Place.Seq > w.dropped[p] {
			all = append(all, o)
		}
	}
	return all
}

// snapshotsOf returns the snapshots of a partition that can be read. The world's lock is held.
func (w *world) snapshotsOf(p weburl.Partition) (all []saved) {
	for o, err := range w.objects.List(context.Background(), fmt.Sprintf("partitions/test/%05d/", p)) {
		if err != nil {
			w.t.Error(err)
			return nil
		}
		var s saved
		if json.NewDecoder(objects.Reader(context.Background(), w.objects, o.Name, o.Bytes)).Decode(&s) == nil {
			all = append(all, s)
		}
	}
	return all
}

// wireOf is the wire as a node sees it: messages are late, and some are lost.
type wireOf struct {
	*world
	node string
}

// heard is a node's subscription.
type heard struct {
	w       wireOf
	subject string
	handle  nats.MsgHandler
}

func (h *heard) Unsubscribe() error {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	delete(h.w.world.heard[h.subject], h)
	return nil
}

func (w wireOf) Subscribe(subject string, handle nats.MsgHandler) (subscription, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := &heard{w, subject, handle}
	if w.heard[subject] == nil {
		w.heard[subject] = map[*heard]bool{}
	}
	w.heard[subject][h] = true
	return h, nil
}

// Publish sends a message to its subscribers, or an answer to the node that waits for it.
func (w wireOf) Publish(subject string, data []byte) error {
	late, lost := w.upTo(20*time.Millisecond), w.chance(50)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut[w.node] || lost {
		return nil
	}
	if inbox := w.inboxes[subject]; inbox != nil {
		time.AfterFunc(late, func() { inbox <- &nats.Msg{Data: data} })
	}
	for h := range w.heard[subject] {
		if !w.cut[h.w.node] {
			time.AfterFunc(late, func() { h.handle(&nats.Msg{Subject: subject, Data: data}) })
		}
	}
	return nil
}

// RequestWithContext sends a request to whoever hears it. Where nobody does the asker is told.
func (w wireOf) RequestWithContext(ctx context.Context, subject string, data []byte) (*nats.Msg, error) {
	if err := w.ask(ctx, w.node); err != nil {
		return nil, err
	}
	inbox := make(chan *nats.Msg, 16)
	w.mu.Lock()
	name := fmt.Sprint("inbox ", len(w.inboxes))
	w.inboxes[name] = inbox
	hears := 0
	for h := range w.heard[subject] {
		hears++
		if !w.cut[h.w.node] {
			go h.handle(&nats.Msg{Subject: subject, Reply: name, Data: data})
		}
	}
	w.mu.Unlock()
	if hears == 0 {
		return nil, nats.ErrNoResponders
	}
	select {
	case m := <-inbox:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// simulated is a node of the world. It has a place in each log, and writes to the logs of the partitions that it has.
type simulated struct {
	*world
	name   string
	part   *Cluster
	stop   context.CancelFunc
	failed chan struct{}
	killed chan struct{}
	once   sync.Once
	writer sync.WaitGroup

	own chan struct{} // a token: who has it may use what follows. A lock would stand still in virtual time
	disk
	has    map[weburl.Partition]bool
	paused bool
	pages  int64 // stored by this run
	grant  share.Grant
	seen   uint64 // the division that grant is of
	saving atomic.Bool
	scope  map[weburl.Site]bool     // sites of other nodes' seeds
	resent map[weburl.Partition]int // how often links were sent again to partitions that others took
}

func (w *world) start(name, instance string, partitions int) *simulated {
	if w.disks[name] == nil || w.chance(2) { // it was lost
		w.disks[name] = &disk{map[weburl.Partition]log.Place{}, map[weburl.Partition]int{}}
	}
	n := &simulated{
		world: w, name: name, failed: make(chan struct{}), killed: make(chan struct{}), own: make(chan struct{}, 1),
		disk: *w.disks[name], has: map[weburl.Partition]bool{}, resent: map[weburl.Partition]int{}, scope: map[weburl.Site]bool{},
	}
	lease := defaultLease
	if w.plant == "declared-dead-early" && name == "a" {
		lease = defaultLease / 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var err error
	n.part, err = join(ctx, wireOf{w, name}, bucketOf{w, name}, logOf{w, name}, Options{
		Cluster: "test", Node: name, Directory: &Directory{its: identity{Cluster: "test", Instance: instance}}, Partitions: partitions, Lease: lease, Copies: w.copies,
		Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler),
		Snapshots: &Snapshots{Store: objectsOf{w, w.objects, name}, Every: w.every, FS: vfs.NewMem(), File: "snapshot"},
	})
	if err != nil { // it is cut off, or its answers are lost: somebody starts it again
		return nil
	}
	moving, stop := context.WithCancel(context.Background())
	n.stop, n.part.mostData = stop, mostData
	if err := n.part.Begin(moving, n); err != nil {
		w.t.Error(err)
	}
	n.writer.Go(n.write)
	n.writer.Go(n.visit)
	return n
}

func (n *simulated) free() { <-n.own }

// mostData makes entries of a few bytes, so that data often takes several.
const mostData = 64

// dataOf returns data that show whether they are whole: a node's number of them again and again.
func dataOf(node string, number, times int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%s %d\n", node, number), times)
}

// isWhole reports whether data are as dataOf made them.
func isWhole(data []byte) bool {
	line, _, found := bytes.Cut(data, []byte("\n"))
	line = append(slices.Clone(line), '\n')
	return found && len(data)%len(line) == 0 && bytes.Equal(data, bytes.Repeat(line, len(data)/len(line)))
}

// visit asks the hosts of all the node's partitions, again and again. Now and then the whole process stands still
// between the decision to ask and the request. The simulated node looks after its lease meanwhile; a real one does so
// later.
func (n *simulated) visit() {
	for {
		for p := range weburl.Partition(n.part.options.Partitions) {
			n.own <- struct{}{}
			if n.has[p] && (!n.chance(500) || n.standStill()) && (n.part.Leased() == nil || n.plant == "lease-not-looked-at") {
				n.asks(p)
			}
			n.free()
		}
		select {
		case <-n.failed:
			return
		case <-n.killed:
			return
		case <-time.After(n.upTo(time.Second)):
		}
	}
}

// standStill lets time pass while no server hears of the node. It returns false if the test kills the node meanwhile.
func (n *simulated) standStill() bool {
	n.mu.Lock()
	n.cut[n.name] = true
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		n.cut[n.name] = false
		n.mu.Unlock()
	}()
	select {
	case <-n.killed:
		return false
	case <-time.After(n.upTo(30 * time.Second)):
		return true
	}
}

// asks holds that only this node has the partition whose hosts it asks.
func (n *simulated) asks(p weburl.Partition) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, other := range n.holders[p] {
		if other != n.name {
			n.fault("%s asks a host of partition %d, which %s crawls", n.name, p, other)
		}
	}
}

// write appends to the logs of all partitions that the node has, again and again.
func (n *simulated) write() {
	for i := 0; ; i++ {
		select {
		case <-n.failed:
			return
		case <-time.After(n.upTo(time.Second)):
		}
		for p, most := weburl.Partition(0), weburl.Partition(n.part.options.Partitions); p < most; {
			end := min(p+1, most)
			if n.chance(10) {
				end = most
			}
			n.own <- struct{}{}
			err := n.append(i, p, end)
			n.free()
			if err != nil {
				n.Fail(err)
				return
			}
			p = end
		}
	}
}

// firstDown is the first of the partitions whose pages are taken down. Their snapshots are not spoiled, because after a
// take-down there is only one.
const firstDown = 6

// append appends to the logs of some partitions at once, as far as the node has them. The caller owns the node.
func (n *simulated) append(number int, from, end weburl.Partition) error {
	var groups []store.Group
	for p := from; p < end; p++ {
		if !n.has[p] || n.most > 0 && n.pages >= n.grant.Pages {
			continue
		}
		n.pages++
		times := 1
		if n.chance(10) {
			times += int(n.upTo(30))
		}
		down := p >= firstDown && n.chance(50)
		groups = append(groups, store.Group{Partition: p, Place: n.places[p], Data: dataOf(n.name, number, times), Purges: down})
	}
	before := slices.Clone(groups)
	if n.plant == "take-down-not-noted" {
		for i := range groups {
			groups[i].Purges = false
		}
	}
	err := n.part.Append(groups)
	if err != nil && !(n.plant == "one-of-several-not-looked-at" && len(groups) > 1) {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(groups) > 1 {
		n.wide++
	}
	for i, g := range groups {
		p := g.Partition
		n.places[p] = g.Place
		n.read[p]++
		n.acked[p] = append(n.acked[p], g.Data)
		if n.stored++; n.most > 0 && n.stored > n.most {
			n.fault("%d pages are stored, and %d may be", n.stored, n.most)
		}
		if len(g.Data) > mostData {
			n.parted++
		}
		if before[i].Purges {
			n.world.downs[p] = before[i].Place.Seq
		}
	}
	return nil
}

func (n *simulated) Place(p weburl.Partition) (log.Place, error) {
	n.own <- struct{}{}
	defer n.free()
	return n.places[p], nil
}

// saved is a snapshot.
type saved struct {
	Partition weburl.Partition
	Cluster   string
	Place     log.Place
	Read      int
}

func (n *simulated) Snapshot(p weburl.Partition, cluster string, w io.Writer) (log.Place, error) {
	if n.slow {
		n.saving.Store(true)
		defer n.saving.Store(false)
		for {
			if _, err := io.WriteString(w, "more"); err != nil {
				return log.Place{}, err
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	n.own <- struct{}{}
	defer n.free()
	return n.places[p], json.NewEncoder(w).Encode(saved{p, cluster, n.places[p], n.read[p]})
}

func (n *simulated) CheckSnapshot(r io.Reader) (weburl.Partition, string, log.Place, error) {
	var s saved
	err := json.NewDecoder(r).Decode(&s)
	return s.Partition, s.Cluster, s.Place, err
}

func (n *simulated) Load(p weburl.Partition, r io.Reader) error {
	var s saved
	if err := json.NewDecoder(r).Decode(&s); err != nil {
		return err
	}
	n.mu.Lock()
	loading := n.loading
	n.mu.Unlock()
	time.Sleep(loading)
	n.own <- struct{}{}
	defer n.free()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.has[p] {
		n.fault("%s loads partition %d, which it has", n.name, p)
	}
	barred, is := n.barred[n.name]
	if n.one(20) || is && barred == p {
		delete(n.places, p)
		delete(n.read, p)
		return errors.New("the disk does not take it")
	}
	n.loads++
	for o, err := range n.objects.List(context.Background(), fmt.Sprintf("partitions/test/%05d/", p)) {
		if err == nil && o.Name > n.part.snapshotName(p, s.Place) {
			n.older++
			break
		}
	}
	if n.places[p] != (log.Place{}) {
		n.behind++
	}
	n.places[p], n.read[p] = s.Place, s.Read
	return nil
}

func (n *simulated) Forget(p weburl.Partition) error {
	n.own <- struct{}{}
	defer n.free()
	if n.has[p] {
		n.mu.Lock()
		n.fault("%s forgets partition %d, which it has", n.name, p)
		n.mu.Unlock()
	}
	delete(n.places, p)
	delete(n.read, p)
	return nil
}

// Seeded returns the sites of the seeds that each partition has.
func (n *simulated) Seeded(p weburl.Partition) (sites []weburl.Site, err error) {
	return slices.Repeat([]weburl.Site{siteOf(p)}, n.seeded), nil
}

func siteOf(p weburl.Partition) weburl.Site { return weburl.Site(fmt.Sprintf("http://p%d.test", p)) }

func (n *simulated) Widen(sites []weburl.Site) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, site := range sites {
		n.scope[site] = true
	}
}

func (n *simulated) Follow(p weburl.Partition, groups ...store.Group) error {
	n.own <- struct{}{}
	defer n.free()
	if n.has[p] {
		n.mu.Lock()
		n.fault("%s follows partition %d, which it has", n.name, p)
		n.mu.Unlock()
	}
	if damaged, is := n.damage[n.name]; is && damaged == p {
		if n.seed%2 == 0 {
			return store.ErrNewer
		}
		return store.ErrCorrupt
	}
	for _, g := range groups {
		if len(g.Data) > 0 && !isWhole(g.Data) {
			n.mu.Lock()
			n.fault("%s follows partition %d to %.100q", n.name, p, g.Data)
			n.mu.Unlock()
		}
		n.places[p] = g.Place
		if len(g.Data) > 0 && !(n.plant == "group-not-applied" && n.chance(100)) {
			n.read[p]++
			if n.plant == "group-applied-twice" && n.chance(100) {
				n.read[p]++
			}
		}
	}
	return nil
}

func (n *simulated) Take(_ context.Context, p weburl.Partition) error {
	n.own <- struct{}{}
	defer n.free()
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.failed:
		return errors.New("it has failed")
	default:
	}
	if n.plant == "one-is-never-taken" && p == 3 {
		return errors.New("it is not taken")
	}
	n.has[p] = true
	n.moved++
	if n.world.paused && !n.paused {
		n.fault("%s takes partition %d, and has not heard that the crawl is paused", n.name, p)
	}
	n.holders[p] = append(n.holders[p], n.name)
	if len(n.holders[p]) > 1 {
		n.fault("partition %d is crawled by %v at once", p, n.holders[p])
	}
	if got, want := n.read[p], len(n.acked[p]); got < want {
		n.fault("%s takes partition %d with %d of %d acknowledged entries", n.name, p, got, want)
	}
	logged := 0
	for _, r := range n.logs[p] {
		if !r.Taken && !r.More {
			logged++
		}
	}
	if n.read[p] != logged {
		n.fault("%s takes partition %d with %d applications of its %d entries", n.name, p, n.read[p], logged)
	}
	return nil
}

func (n *simulated) Give(_ context.Context, p weburl.Partition) error {
	n.own <- struct{}{}
	defer n.free()
	n.drop(p)
	return nil
}

// drop ends the crawl of a partition. The node's lock is held.
func (n *simulated) drop(p weburl.Partition) {
	delete(n.has, p)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.holders[p] = slices.DeleteFunc(n.holders[p], func(name string) bool { return name == n.name })
}

var errStopped = errors.New("stopped")

// Fail ends all requests at once.
func (n *simulated) Fail(err error) {
	if n.plant == "own-lease-ignored" && !errors.Is(err, errStopped) {
		return
	}
	n.once.Do(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for p, holders := range n.holders {
			n.holders[p] = slices.DeleteFunc(holders, func(name string) bool { return name == n.name })
		}
		close(n.failed)
	})
}

// Total is the budget of all nodes. A page asks for 1/threshold visits a day.
func (n *simulated) Total() share.Total {
	if n.world.seed%4 > 0 {
		return share.Total{}
	}
	return share.Total{Requests: 1000, Interval: 86400, Discovery: 0.2}
}
func (n *simulated) MostPages() int64 { return int64(n.most) }
func (n *simulated) Bid(float64) refresh.Bid {
	n.own <- struct{}{}
	defer n.free()
	pages := 0
	for p := range n.has {
		pages += n.read[p]
	}
	return func(threshold float64) allocate.Demand {
		return allocate.Demand{Above: int64(float64(pages) / max(threshold, 1e-6)), Next: min(threshold, 1)}
	}
}

func (n *simulated) Report() share.Report {
	n.own <- struct{}{}
	defer n.free()
	r := share.Report{Run: n.pages, Granted: n.grant.Pages, Seen: n.seen, Stored: map[weburl.Partition]int64{}}
	for p := range n.has {
		r.Stored[p] = int64(n.read[p])
		r.New++
	}
	return r
}

// Grant takes the part of a division.
func (n *simulated) Grant(g share.Grant, division uint64) {
	n.own <- struct{}{}
	defer n.free()
	if n.seen >= division {
		n.fault("%s is told division %d after %d", n.name, division, n.seen)
	}
	n.grant, n.seen = g, division
	n.mu.Lock()
	defer n.mu.Unlock()
	n.budgets[n.name] = g.Requests
}

// Obey carries out an order about a page, or a pause of all. The page's host names its partition.
func (n *simulated) Obey(o crawl.Order) (crawl.Reply, error) {
	n.own <- struct{}{}
	defer n.free()
	n.mu.Lock()
	defer n.mu.Unlock()
	if o, is := o.(crawl.PauseAll); is {
		n.paused = o.Paused && n.plant != "pause-not-obeyed"
		return crawl.Reply{}, nil
	}
	u := o.(crawl.Recrawl).URL
	p := partitionOf(u)
	if !n.has[p] {
		return crawl.Reply{}, crawl.ErrElsewhere
	}
	if !slices.Contains(n.holders[p], n.name) {
		return crawl.Reply{}, errors.New("it has failed")
	}
	n.done[u.String()]++
	return crawl.Reply{Count: 1}, nil
}

// partitionOf returns the partition that a page's host names.
func partitionOf(u weburl.URL) (p weburl.Partition) {
	_, _ = fmt.Sscanf(u.Host(), "p%d.test", &p)
	return p
}

// order asks, through a node, for a crawl of a page. It holds that an order is carried out if the answer says so.
func (w *world) order(by *simulated, number, partitions int) {
	p := weburl.Partition(w.upTo(time.Duration(partitions)))
	u, err := weburl.Parse(fmt.Sprintf("http://p%d.test/%d", p, number))
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := by.part.Ask(ctx, p, crawl.Recrawl{URL: u})
	w.mu.Lock()
	defer w.mu.Unlock()
	done := w.done[u.String()]
	switch {
	case err == nil && (r.Count != 1 || done != 1):
		w.fault("an order is answered with %d, and was carried out %d times", r.Count, done)
	case errors.Is(err, crawl.ErrElsewhere) && done > 0:
		w.fault("an order was carried out, and is answered as if by nobody")
	case err == nil:
		w.obeyed++
	}
}

// layOut drains a node, or none if name is empty.
func (w *world) layOut(name string) {
	l := layout{}
	if name != "" {
		l.Drained = []string{name}
	}
	raw, err := json.Marshal(l)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	e := entry{key: layoutKey, value: raw, revision: w.last, created: clock.Real().Now()}
	w.entries[layoutKey] = e
	for _, watch := range w.watches {
		watch.tell(e)
	}
}

// even divides the partitions by their pages, as an operator does.
func (w *world) even() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	o := &Operator{wireOf{w, operator}, bucketOf{w, operator}, "test"}
	_, err := o.Rebalance(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.evened++
	}
	return err
}

const operator = "operator"

// layoutNow returns the layout that all should know. The world's lock is held.
func (w *world) layoutNow() (l layout) {
	if err := json.Unmarshal(w.entries[layoutKey].value, &l); err != nil {
		w.t.Error(err)
	}
	return l
}

// pauseAll pauses the whole crawl, or lets it go on, through a node.
func (w *world) pauseAll(by *simulated, paused bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	if !paused {
		w.mu.Lock()
		w.paused = false
		w.mu.Unlock()
	}
	err := by.part.PauseAll(ctx, paused)
	w.mu.Lock()
	defer w.mu.Unlock()
	if paused {
		w.paused = err == nil
	}
}

func (n *simulated) Arrive(crawl.Parcel)   {}
func (n *simulated) Receive(crawl.Receipt) {}

func (n *simulated) Resend(p weburl.Partition) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resent[p]++
}
func (n *simulated) Pages() []int64       { return []int64{1} }
func (n *simulated) Vitals() share.Vitals { return share.Vitals{Pages: 1, Fetches: 4} }

// end stops a node: in order, or as a crash does.
func (n *simulated) end(orderly bool) {
	close(n.killed)
	n.stop()
	if orderly {
		n.part.Stay()
	}
	n.Fail(errStopped)
	if !orderly {
		n.part.end()
	}
	n.writer.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_ = n.part.Close(ctx, orderly) // where the servers are cut off the lease runs out
}

// TestWorld simulates small clusters. Their servers lose answers and answer late. Their nodes lose the network, die,
// start again, stand still, and leave in order. Two nodes never crawl one partition. A node that has lost a partition
// stops asking its hosts. A node that takes one has every acknowledged write. In the end, when all is well, all nodes
// work, and each has the partitions that it should have, its share of the budget, and obeys the last pause. Nothing of
// a page that was taken down is left in a log or snapshot. Some nodes have a partition that they can never load or
// apply: another has it.
func TestWorld(t *testing.T) {
	moved, obeyed, loads, behind, older, truncated, wide, parted, evened, down := 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		synctest.Test(t, func(t *testing.T) {
			w := simulate(t, seed, "")
			moved += w.moved
			obeyed += w.obeyed
			loads += w.loads
			behind += w.behind
			older += w.older
			truncated += len(w.dropped)
			wide += w.wide
			parted += w.parted
			evened += w.evened
			down += len(w.downs)
		})
		if t.Failed() {
			t.Fatalf("go test ./node/cluster -run TestWorld -cluster.seed %d -cluster.seeds 1", seed)
		}
	}
	t.Logf("%d clusters, %d times a partition was taken, %d orders carried out, %d logs truncated, %d snapshots loaded: "+
		"%d in the place of what a node had, %d since a newer one was damaged", *seeds, moved, obeyed, truncated, loads, behind, older)
	t.Logf("%d appends to several partitions, %d data in several entries, %d divisions by pages, %d partitions with take-downs", wide, parted, evened, down)
	if behind == 0 || older == 0 || loads == behind || wide == 0 || parted == 0 || evened == 0 || down == 0 {
		t.Error("want some of each kind")
	}
}

// TestStepIsDecidedByAnEntry has a node decide to take a partition. Another node takes it first. The first node has
// heard of that, and must not write behind the other's entry.
func TestStepIsDecidedByAnEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, "")
		begin := time.Now()
		c := &Cluster{
			options: Options{Node: "a", Partitions: 1, Clock: clock.Real()}, bucket: bucketOf{w, "a"},
			members: newMembers("a", "run of a", 1, 0, defaultLease, begin),
		}
		c.members.follows(0)
		c.members.plan(begin)
		plan := c.members.plan(begin.Add(defaultLease))
		if len(plan.take) != 1 {
			t.Fatalf("the plan is %+v", plan)
		}
		of := entry{key: "partition.0", value: []byte(`{"node":"b","run":"run of b"}`), revision: 1}
		w.entries[of.key], w.last = of, 1
		c.see(of)
		if err := c.take(t.Context(), plan.take[0]); err != nil {
			t.Error(err)
		}
		if now := w.entries[of.key]; now.revision != 1 {
			t.Errorf("the partition's entry is %s", now.value)
		}
	})
}

// TestPauseWaitsForWhoHasJoined has a node join. Another node pauses the crawl before it hears of that. The pause is
// not over before the new node has obeyed.
func TestPauseWaitsForWhoHasJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, "")
		w.calm = true
		c := &Cluster{
			options: Options{Node: "a", Clock: clock.Real()}, bucket: bucketOf{w, "a"},
			members: newMembers("a", "run of a", 1, 0, defaultLease, time.Now()),
		}
		w.entries["node.b"], w.last = entry{key: "node.b", value: []byte(`{"node":"b","run":"run of b"}`), revision: 1}, 1
		c.pause.obeyed = 2
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.PauseAll(ctx, true); err == nil || !strings.Contains(err.Error(), "confirmed yet by b") {
			t.Errorf("%v, want an error that names b", err)
		}
	})
}

// TestFollowersTakeTurns holds that a node asks a bounded number of logs for news at once, and that each log has its
// turn. A log that the node has not yet followed to its end need not wait.
func TestFollowersTakeTurns(t *testing.T) {
	const partitions = 10*mostAsked + 1
	now := time.Now()
	m := newMembers("b", "of b", partitions, 0, defaultLease, now)
	m.see(State{Node: "a", Run: "of a"}, 1, now)
	m.layout.Drained = []string{"b"}
	for p := range weburl.Partition(partitions - 1) {
		m.follows(p)
	}
	asked := map[weburl.Partition]int{}
	for range 10 {
		follow := m.inTurn(m.plan(now).follow)
		if len(follow) != mostAsked+1 {
			t.Fatalf("asks for the news of %d at once", len(follow))
		}
		for _, p := range follow {
			asked[p]++
		}
	}
	for p := range weburl.Partition(partitions - 1) {
		if asked[p] != 1 {
			t.Errorf("asks %d times for the news of partition %d, while each has one turn", asked[p], p)
		}
	}
	if asked[partitions-1] != 10 {
		t.Errorf("looks %d times at the log that it is behind, want 10", asked[partitions-1])
	}
}

// TestManySeeds holds that a node whose partitions have more seeds than an entry takes still follows the others.
func TestManySeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const partitions = 4
		w := newWorld(t, 1, "")
		w.calm, w.seeded = true, 1<<16
		nodes := []*simulated{w.start("a", "of a", partitions), w.start("b", "of b", partitions)}
		time.Sleep(time.Minute)
		for _, n := range nodes {
			n.own <- struct{}{}
			for p := range weburl.Partition(partitions) {
				w.mu.Lock()
				if behind := len(w.logs[p]) - int(n.places[p].Seq); behind > 10 || len(n.has) == 0 {
					t.Errorf("%s has %d partitions, and is %d entries behind partition %d", n.name, len(n.has), behind, p)
				}
				w.mu.Unlock()
			}
			n.free()
		}
		for _, n := range nodes {
			n.end(true)
		}
	})
}

// TestSilentStream holds that a node still follows the other partitions while no server answers for the log of one.
func TestSilentStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const partitions = 8
		w := newWorld(t, 1, "")
		w.calm = true
		a, b := w.start("a", "of a", partitions), w.start("b", "of b", partitions)
		time.Sleep(time.Minute)
		b.own <- struct{}{}
		w.mu.Lock()
		for p := range weburl.Partition(partitions) {
			if !b.has[p] {
				w.silent = map[weburl.Partition]bool{p: true} // the first that b follows
				break
			}
		}
		w.mu.Unlock()
		b.free()
		time.Sleep(time.Minute)
		b.own <- struct{}{}
		w.mu.Lock()
		followed := 0
		for p := range weburl.Partition(partitions) {
			if w.silent[p] || b.has[p] {
				continue
			}
			followed++
			if behind := len(w.logs[p]) - int(b.places[p].Seq); behind > 10 {
				t.Errorf("b is %d entries behind partition %d", behind, p)
			}
		}
		if w.silent = nil; followed == 0 {
			t.Error("b follows no other partition")
		}
		w.mu.Unlock()
		b.free()
		a.end(true)
		b.end(true)
	})
}

// TestStreamWithoutLeader holds that a node takes the other partitions of one that has ended while the log of one takes
// no entries, and that one when it does.
func TestStreamWithoutLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const partitions = 8
		w := newWorld(t, 1, "")
		w.calm = true
		a, b := w.start("a", "of a", partitions), w.start("b", "of b", partitions)
		time.Sleep(time.Minute)
		w.mu.Lock()
		for p := range weburl.Partition(partitions) {
			if slices.Equal(w.holders[p], []string{"a"}) {
				w.leaderless = map[weburl.Partition]bool{p: true}
				break
			}
		}
		w.mu.Unlock()
		a.end(false)
		for _, all := range []bool{false, true} {
			time.Sleep(2 * time.Minute)
			w.mu.Lock()
			for p := range weburl.Partition(partitions) {
				if holders := w.holders[p]; !slices.Equal(holders, []string{"b"}) && (all || !w.leaderless[p]) {
					t.Errorf("partition %d is crawled by %v, want b", p, holders)
				}
			}
			if len(w.leaderless) != 1 && !all {
				t.Error("each log takes entries")
			}
			w.leaderless = nil
			w.mu.Unlock()
		}
		b.end(true)
	})
}

// TestStayEndsSnapshots holds that no snapshot is under way when a node has ended its moves: its store is closed next.
func TestStayEndsSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, "")
		w.calm, w.slow = true, true
		n := w.start("a", "of a", 1)
		time.Sleep(5 * time.Minute)
		if !n.saving.Load() {
			t.Error("no snapshot was begun")
		}
		n.stop()
		n.part.Stay()
		if n.saving.Load() {
			t.Error("a snapshot is under way")
		}
		n.end(true)
	})
}

// TestCopiedDirectory has two machines work with copies of one data directory. The first one ends, and says why.
func TestCopiedDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, "")
		w.calm = true
		var parts [2]*Cluster
		for i := range parts {
			var err error
			parts[i], err = join(t.Context(), wireOf{w, "a"}, bucketOf{w, "a"}, logOf{w, "a"}, Options{
				Cluster: "test", Node: "a", Directory: &Directory{its: identity{Cluster: "test", Instance: "copied"}}, Lease: defaultLease,
				Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := parts[0].renew(t.Context()); !errors.Is(err, ErrLease) || !strings.Contains(err.Error(), "remove cluster.json from the copy") {
			t.Error(err)
		}
		if err := parts[1].renew(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestNoOrderAfterTheEnd holds that a node whose part in the cluster has ended carries out no order: its store is
// closed next.
func TestNoOrderAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, "")
		w.calm = true
		n := w.start("a", "of a", 1)
		n.end(true)
		late := &obedient{Node: n}
		n.part.node = late
		n.part.obey(&nats.Msg{Reply: "inbox", Data: []byte(`{"kind":"recrawl","urls":["http://p0.test/1"]}`)})
		synctest.Wait()
		if late.orders > 0 {
			t.Error("an order is carried out")
		}
	})
}

// obedient counts orders.
type obedient struct {
	Node
	orders int
}

func (o *obedient) Obey(crawl.Order) (crawl.Reply, error) {
	o.orders++
	return crawl.Reply{}, nil
}

// TestWorldPlants holds that TestWorld finds planted faults of a cluster.
func TestWorldPlants(t *testing.T) {
	const within = 100
	for _, plant := range []string{"log-without-fence", "bucket-without-fence", "own-lease-ignored", "declared-dead-early", "group-not-applied", "lease-not-looked-at",
		"truncated-above-the-snapshot", "gap-not-seen", "group-applied-twice", "one-is-never-taken", "pause-not-obeyed",
		"part-lost", "part-kept-of-who-was-deposed", "one-of-several-not-looked-at", "layout-not-heard", "take-down-not-noted"} {
		t.Run(plant, func(t *testing.T) {
			for seed := range uint64(within) {
				var w *world
				synctest.Test(t, func(t *testing.T) { w = simulate(t, seed, plant) })
				if w.found != "" {
					t.Logf("seed %d: %s", seed, w.found)
					return
				}
			}
			t.Errorf("not found within %d seeds", within)
		})
	}
}

func simulate(t *testing.T, seed uint64, plant string) *world {
	const partitions = 8
	w := newWorld(t, seed, plant)
	w.entries[charterKey] = entry{key: charterKey, value: fmt.Appendf(nil, `{"partitions":%d}`, partitions)}
	if w.chance(2) {
		w.most = 1 + int(w.upTo(3000))
	}
	nodes := map[string]*simulated{}
	begin := func(name string) {
		if n := w.start(name, "of "+name, partitions); n != nil {
			nodes[name] = n
		}
	}
	names := []string{"a", "b", "c", "d"}
	w.copies = int(w.upTo(3))
	w.barred["b"] = weburl.Partition(w.upTo(partitions))
	if w.chance(4) {
		w.every = time.Hour // only what is taken down has snapshots
	}
	if w.chance(3) {
		w.loading = w.upTo(20 * time.Second)
	}
	if w.chance(3) {
		w.damage["c"] = weburl.Partition(w.upTo(partitions))
	}
	for step := range 60 {
		time.Sleep(w.upTo(15 * time.Second))
		name := names[w.upTo(time.Duration(len(names)))]
		n := nodes[name]
		w.spoil(weburl.Partition(w.upTo(firstDown)))
		if n != nil && n.hasFailed() { // its lease has run out, or it was deposed: it ends, and is started again
			n.end(false)
			delete(nodes, name)
			n = nil
		}
		if n != nil {
			w.order(n, step, partitions)
			if w.chance(6) {
				w.layOut(names[w.upTo(time.Duration(len(names)))])
			}
			if w.chance(8) {
				_ = w.even() // not while partitions move
			}
			if w.chance(8) {
				w.pauseAll(n, w.chance(2))
			}
		}
		switch w.upTo(6) {
		case 0, 1:
			if n == nil {
				begin(name)
			}
		case 2, 3:
			w.mu.Lock()
			w.cut[name] = !w.cut[name] && n != nil
			w.mu.Unlock()
		case 4:
			if n != nil {
				n.end(false)
				delete(nodes, name)
			}
		case 5:
			if n != nil {
				n.end(true)
				delete(nodes, name)
			}
		}
		if n == nil {
			w.mu.Lock()
			w.cut[name] = false
			w.mu.Unlock()
		}
	}
	w.layOut("a")
	w.mu.Lock()
	clear(w.cut)
	w.calm, w.loading = true, 0
	w.mu.Unlock()
	time.Sleep(2 * time.Minute)
	for _, name := range names {
		if n := nodes[name]; n != nil && n.hasFailed() {
			n.end(false)
			delete(nodes, name)
		}
		if nodes[name] == nil {
			begin(name)
		}
	}
	time.Sleep(3 * time.Minute)
	if seed%3 == 0 {
		if err := w.even(); err != nil {
			w.mu.Lock()
			w.fault("in the end the partitions are not divided by their pages: %v", err)
			w.mu.Unlock()
		}
		time.Sleep(time.Minute)
	}
	w.mu.Lock()
	should := w.layoutNow().owners(partitions, names)
	w.judgeTakeDowns()
	for p := range weburl.Partition(partitions) {
		cannot := func(bad map[string]weburl.Partition) bool {
			of, is := bad[should[p]]
			return is && of == p
		}
		if len(w.holders[p]) != 1 || w.holders[p][0] != should[p] && !cannot(w.barred) && !cannot(w.damage) {
			w.fault("in the end partition %d is crawled by %v, and should be by %s", p, w.holders[p], should[p])
		}
	}
	for _, name := range names {
		n := nodes[name]
		if n == nil || n.hasFailed() {
			w.fault("in the end %s does not work", name)
			continue
		}
		if n.paused != w.lastPause().Paused {
			w.fault("in the end %s is paused: %v, and the crawl should be: %v", name, n.paused, w.lastPause())
		}
		// Each partition has a new page. A node has its even part of all pages, but for rounding.
		fresh, least := float64(n.grant.Requests)*n.grant.Discovery, 200/float64(len(nodes))-2
		if seed%4 == 0 && (n.grant.Requests == 0 || slices.Contains(should, name) && fresh < least) {
			w.fault("in the end %s has %d requests, %g of them for new pages", name, n.grant.Requests, fresh)
		}
	}
	w.mu.Unlock()
	for _, n := range nodes {
		n.end(true)
	}
	time.Sleep(time.Minute) // for what is still to be told, or written
	w.judgeLogs()
	return w
}

// judgeLogs holds that only the node with the partition has written to its log.
func (w *world) judgeLogs() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, all := range w.logs {
		owner := ""
		for _, r := range all {
			if r.Taken {
				owner = r.Owner
			}
			if r.Owner != owner {
				w.fault("an entry of %s is in the log of partition %d, which %s has", r.Owner, p, owner)
				return
			}
		}
	}
}

// judgeTakeDowns holds that nothing of a page that was taken down minutes ago is left in a log or snapshot. The world's
// lock is held.
func (w *world) judgeTakeDowns() {
	for p, behind := range w.downs {
		if w.dropped[p] < behind {
			w.fault("the log of partition %d begins behind entry %d, and a page that was taken down behind entry %d is in it", p, w.dropped[p], behind)
		}
		for _, s := range w.snapshotsOf(p) {
			if s.Place.Seq <= behind {
				w.fault("a snapshot of partition %d at entry %d has a page that was taken down behind entry %d", p, s.Place.Seq, behind)
			}
		}
	}
}

// hasFailed reports whether a node has lost its lease or a partition.
func (n *simulated) hasFailed() bool {
	select {
	case <-n.failed:
		return true
	default:
		return false
	}
}

// lastPause returns the last order about a pause. The world's lock is held.
func (w *world) lastPause() (its pause) {
	if e, is := w.entries[pauseKey]; is {
		if err := json.Unmarshal(e.value, &its); err != nil {
			w.t.Error(err)
		}
	}
	return its
}
