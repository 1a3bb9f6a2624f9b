package multicast

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"freshet/clock"
)

// A Receiver puts frames together from the datagrams that arrive. Its methods are safe for concurrent use.
type Receiver struct {
	clock  *clock.Clock
	most   int // bytes held
	coders coders

	mu       sync.Mutex
	key      []byte // of the sender; nil: no datagram is accepted yet
	frames   map[uint64]*assembly
	order    []uint64 // their serials, in order of their first datagrams
	held     int
	passed   uint64 // serials up to here are no longer needed
	awaited  uint64 // the serial for which Await waits
	arrivals int64
	timely   int64         // of those, of frames up to that one
	news     chan struct{} // closed when a frame is complete
}

// assembly holds the parts of a frame that have arrived.
type assembly struct {
	size   layout
	blocks []blockParts
	left   int // blocks that are not whole
	held   int // bytes
}

// blockParts holds the shards of a block that have arrived, at their places.
type blockParts struct {
	shards [][]byte
	got    int
	whole  bool
}

// About how many bytes an assembly takes apart from the shards.
const (
	partsBytes = 40 // a block
	placeBytes = 24 // a shard's place
)

func newAssembly(size layout) *assembly {
	n := size.blocks()
	return &assembly{size: size, blocks: make([]blockParts, n), left: n, held: n * partsBytes}
}

// NewReceiver returns a receiver that holds at most most bytes. It drops the oldest frames for the newest.
func NewReceiver(most int, c *clock.Clock) *Receiver {
	return &Receiver{clock: c, most: most, frames: map[uint64]*assembly{}, news: make(chan struct{})}
}

// Run receives datagrams from conn until it is closed, which is no error.
func (r *Receiver) Run(conn net.PacketConn) error {
	buffer := make([]byte, headBytes+tagBytes+shardBytes+1) // one byte more: what is too long is not taken for whole
	for {
		n, _, err := conn.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		r.Take(buffer[:n])
	}
}

// Trust sets the sender's key. The receiver accepts only datagrams made with it, and none before Trust is called.
func (r *Receiver) Trust(key []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.key = key
}

// Take receives a datagram and keeps a copy. It ignores a datagram that was not made with the sender's key, or is no
// shard of a valid layout.
func (r *Receiver) Take(datagram []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, shard, ok := parse(r.key, datagram)
	if !ok {
		return
	}
	r.arrivals++
	if h.serial <= r.awaited {
		r.timely++
	}
	if h.serial <= r.passed {
		return
	}
	a := r.frames[h.serial]
	if a == nil {
		a = newAssembly(layout(h.size))
		r.held += a.held
		r.frames[h.serial] = a
		r.order = append(r.order, h.serial)
	}
	if a.size != layout(h.size) {
		return // of another frame with the same serial: at most one is the sender's
	}
	r.held += a.take(h, shard, &r.coders)
	if a.left == 0 {
		close(r.news)
		r.news = make(chan struct{})
	}
	for r.held > r.most && len(r.order) > 1 {
		r.forget(r.order[0])
	}
}

// take puts a shard in its place, and restores the block if it now has enough shards. It returns how many more bytes
// the assembly holds.
func (a *assembly) take(h head, shard []byte, coders *coders) int {
	b := &a.blocks[h.block]
	data, parity, _ := a.size.shards(int(h.block))
	before := a.held
	if b.shards == nil {
		b.shards = make([][]byte, data+parity)
		a.held += (data + parity) * placeBytes
	}
	if b.whole || b.shards[h.shard] != nil {
		return 0
	}
	b.shards[h.shard] = slices.Clone(shard)
	a.held += len(shard)
	if b.got++; b.got == data {
		b.whole = true
		a.left--
		if err := coders.of(data, parity).ReconstructData(b.shards); err != nil {
			b.shards, b.got, b.whole = nil, 0, false // cannot happen with that many shards
			a.left++
		} else {
			clear(b.shards[data:])
		}
	}
	return a.held - before
}

// forget drops the parts of a frame.
func (r *Receiver) forget(serial uint64) {
	if a := r.frames[serial]; a != nil {
		r.held -= a.held
		delete(r.frames, serial)
	}
	r.order = slices.DeleteFunc(r.order, func(other uint64) bool { return other == serial })
}

// Await waits for datagrams that are late by lateness, and longer while any arrive, but at most mostLate times
// lateness.
const (
	lateness = 300 * time.Millisecond
	mostLate = 20 // times lateness
)

// Await waits for a frame with this serial and size, and returns it when it has arrived. If it should have arrived
// within the given time and no datagram has come for 300 ms, Await returns the parts that have arrived, and the
// missing spans. It then forgets this frame and those with lower serials. It returns an error when ctx ends. Only one
// Await may run at a time.
func (r *Receiver) Await(ctx context.Context, serial uint64, size int, within time.Duration) (frame []byte, missing []Span, err error) {
	timer := r.clock.NewTimer(within + lateness)
	defer timer.Stop()
	for late, arrived := 0, int64(-1); late < mostLate; {
		whole, timely, news := r.progress(serial)
		if whole {
			break
		}
		select {
		case <-news:
		case <-timer.C:
			if timely == arrived {
				late = mostLate
			}
			late, arrived = late+1, timely
			r.clock.Reset(timer, lateness)
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.frames[serial]
	r.passed = max(r.passed, serial)
	for _, old := range slices.Clone(r.order) {
		if old <= serial {
			r.forget(old)
		}
	}
	frame, missing = a.gather(layout(size))
	return frame, missing, nil
}

// progress reports whether a frame is whole, and how many datagrams of this and earlier frames have arrived. news is
// closed when the next frame is complete.
func (r *Receiver) progress(serial uint64) (whole bool, timely int64, news <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaited = serial
	a := r.frames[serial]
	return a != nil && a.left == 0, r.timely, r.news
}

// Arrivals returns how many datagrams have arrived.
func (r *Receiver) Arrivals() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrivals
}

// gather returns the parts of a frame that have arrived, and the missing spans, with neighbours joined. An assembly
// that is nil or has another size has no parts.
func (a *assembly) gather(size layout) (frame []byte, missing []Span) {
	frame = make([]byte, 0, size)
	for block := range size.blocks() {
		span := size.span(block)
		if a != nil && a.size == size && a.blocks[block].whole {
			for _, shard := range a.blocks[block].shards {
				frame = append(frame, shard...)
			}
			frame = frame[:span.To] // without the padding of the last shard
			continue
		}
		frame = frame[:span.To]
		if last := len(missing) - 1; last >= 0 && missing[last].To == span.From {
			missing[last].To = span.To
		} else {
			missing = append(missing, span)
		}
	}
	return frame, missing
}
