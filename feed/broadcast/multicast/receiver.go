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
	key      []byte // of the sender; nil: nothing is taken yet
	frames   map[uint64]*assembly
	order    []uint64 // their serials, in the order in which they began
	held     int
	passed   uint64 // serials up to here are of no more use
	awaited  uint64 // the serial that is waited for
	arrivals int64
	timely   int64         // of those, of frames up to that one
	news     chan struct{} // closed when a frame is complete
}

// assembly is what has arrived of a frame.
type assembly struct {
	size   layout
	blocks []blockParts
	left   int // blocks that are not whole
	held   int // bytes
}

// blockParts are the shards of a block that have arrived, at their places.
type blockParts struct {
	shards [][]byte
	got    int
	whole  bool
}

// What an assembly takes beside the shards, in bytes, about.
const (
	partsBytes = 40 // a block
	placeBytes = 24 // a shard's place
)

func newAssembly(size layout) *assembly {
	n := size.blocks()
	return &assembly{size: size, blocks: make([]blockParts, n), left: n, held: n * partsBytes}
}

// NewReceiver returns a receiver that holds at most so many bytes; the oldest frames go for the newest.
func NewReceiver(most int, c *clock.Clock) *Receiver {
	return &Receiver{clock: c, most: most, frames: map[uint64]*assembly{}, news: make(chan struct{})}
}

// Run takes what a connection brings until it is closed, which is no error.
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

// Trust lets the receiver take the datagrams of the sender with this key, and of no other. Without a key it takes none.
func (r *Receiver) Trust(key []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.key = key
}

// Take takes a datagram that has arrived, of which it keeps a copy. What was not made with the sender's key, or is no
// shard of a frame that can be, is passed over, and leaves no trace.
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
		return // of another frame by the same serial: not both are the sender's
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

// take puts a shard in its place, and its block together if it is the last that was needed. It returns
// how many bytes more are held.
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
			b.shards, b.got, b.whole = nil, 0, false // cannot be, with as many as that
			a.left++
		} else {
			clear(b.shards[data:])
		}
	}
	return a.held - before
}

// forget drops what there is of a frame.
func (r *Receiver) forget(serial uint64) {
	if a := r.frames[serial]; a != nil {
		r.held -= a.held
		delete(r.frames, serial)
	}
	r.order = slices.DeleteFunc(r.order, func(other uint64) bool { return other == serial })
}

// Datagrams may be that much behind; and while any come, a frame is waited for, to an end.
const (
	lateness = 300 * time.Millisecond
	mostLate = 20 // times lateness
)

// Await returns a frame of that serial and size once it has arrived, or what there is of it when it ought to
// have and nothing has come for 300 ms, and what is missing of it then. It, and frames of lower serials, are
// then forgotten. It returns an error when ctx ends. Not for concurrent use with itself.
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

// progress reports whether a frame has arrived, how many datagrams have that are no later's, and what is closed
// when the next frame is complete.
func (r *Receiver) progress(serial uint64) (whole bool, timely int64, news <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaited = serial
	a := r.frames[serial]
	return a != nil && a.left == 0, r.timely, r.news
}

// Arrivals returns how many datagrams have come.
func (r *Receiver) Arrivals() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrivals
}

// gather returns a frame as far as it is there, and what is missing, neighbours as one. An assembly that is
// nil, or of another size, has nothing.
func (a *assembly) gather(size layout) (frame []byte, missing []Span) {
	frame = make([]byte, 0, size)
	for block := range size.blocks() {
		span := size.span(block)
		if a != nil && a.size == size && a.blocks[block].whole {
			for _, shard := range a.blocks[block].shards {
				frame = append(frame, shard...)
			}
			frame = frame[:span.To] // the last shard's filling
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
