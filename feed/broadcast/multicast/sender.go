package multicast

import (
	"context"
	"crypto/rand"
	"io"
	"sync"
	"time"

	"freshet/clock"
)

const (
	window   = 8  // blocks whose shards are interleaved, so that a gap costs each of them little
	atOnce   = 16 // datagrams between two checks of the pace
	awaiting = 4  // frames that may wait
)

// A Sender sends frames to a group, at a pace. Its methods are safe for concurrent use.
type Sender struct {
	out    io.Writer
	key    []byte
	pace   float64 // bytes/s
	clock  *clock.Clock
	coders coders
	frames chan numbered
	cancel context.CancelFunc
	done   sync.WaitGroup
}

type numbered struct {
	serial uint64
	frame  []byte
}

// NewSender returns a sender that writes one datagram at a time to out, pace > 0 bytes in a second of the clock. It
// has its own key. A datagram that out fails to write is lost, like one that is lost on the way. Close ends the
// sender; out stays open.
func NewSender(out io.Writer, pace float64, c *clock.Clock) *Sender {
	ctx, cancel := context.WithCancel(context.Background())
	key := make([]byte, keyBytes)
	rand.Read(key) // never fails
	s := &Sender{out: out, key: key, pace: pace, clock: c, frames: make(chan numbered, awaiting), cancel: cancel}
	s.done.Go(func() { s.run(ctx) })
	return s
}

// Key returns the key for Receiver.Trust.
func (s *Sender) Key() []byte { return s.key }

// Send queues a frame of 1 to MaxFrame bytes. It returns how many bytes will be sent, and how long that takes by the
// machine's clock. It blocks while four others wait. The caller must not change the frame any more.
func (s *Sender) Send(serial uint64, frame []byte) (bytes int64, takes time.Duration) {
	l := layout(len(frame))
	for block := range l.blocks() {
		data, parity, size := l.shards(block)
		bytes += int64((data + parity) * (headBytes + tagBytes + size))
	}
	s.frames <- numbered{serial, frame}
	return bytes, s.clock.Machine(time.Duration(float64(bytes) / s.pace * 1e9))
}

// Close ends the sender. Frames that were not sent yet are lost. Do not call Send after it.
func (s *Sender) Close() {
	s.cancel()
	s.done.Wait()
}

func (s *Sender) run(ctx context.Context) {
	p := &pacer{sender: s, free: s.clock.Now()}
	for {
		select {
		case next := <-s.frames:
			if s.send(ctx, p, next) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// send writes the datagrams of a frame, window by window. Within a window it takes a shard of each block in turn.
func (s *Sender) send(ctx context.Context, p *pacer, n numbered) error {
	l := layout(len(n.frame))
	for first := 0; first < l.blocks(); first += window {
		last := min(first+window, l.blocks())
		blocks := make([][][]byte, 0, window)
		for block := first; block < last; block++ {
			blocks = append(blocks, s.encode(n.frame, block))
		}
		for shard := range maxShards {
			for i, shards := range blocks {
				if shard >= len(shards) {
					continue
				}
				h := head{uint8(shard), uint32(first + i), uint32(len(n.frame)), n.serial}
				if err := p.write(ctx, h.datagram(s.key, shards[shard])); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// encode returns the shards of a block, parity last.
func (s *Sender) encode(frame []byte, block int) [][]byte {
	l := layout(len(frame))
	data, parity, size := l.shards(block)
	span := l.span(block)
	buffer := make([]byte, (data+parity)*size)
	copy(buffer, frame[span.From:span.To])
	shards := make([][]byte, data+parity)
	for i := range shards {
		shards[i] = buffer[i*size : (i+1)*size]
	}
	if err := s.coders.of(data, parity).Encode(shards); err != nil {
		panic("multicast: " + err.Error()) // shards of our own making
	}
	return shards
}

// pacer writes datagrams at the sender's pace.
type pacer struct {
	sender *Sender
	free   time.Time // when the pace allows the next datagram
	since  int       // datagrams since the last look at the clock
}

func (p *pacer) write(ctx context.Context, datagram []byte) error {
	s := p.sender
	if p.since++; p.since >= atOnce {
		p.since = 0
		now := s.clock.Now()
		if wait := p.free.Sub(now); wait > 0 {
			if err := s.clock.Sleep(ctx, wait); err != nil {
				return err
			}
		} else {
			p.free = now
		}
	}
	_, _ = s.out.Write(datagram) // an error counts as a lost datagram
	p.free = p.free.Add(time.Duration(float64(len(datagram)) / s.pace * 1e9))
	return ctx.Err()
}
