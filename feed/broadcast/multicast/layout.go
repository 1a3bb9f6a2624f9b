package multicast

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/reedsolomon"
)

const (
	format      = 2
	headBytes   = 1 + 1 + 4 + 4 + 8
	tagBytes    = 16
	keyBytes    = 32
	shardBytes  = 1200 // small enough, with the headers of IP and UDP, for every network
	blockShards = 64   // of data, at most
	blockBytes  = blockShards * shardBytes
	perParity   = 4 // data shards to a parity shard
	leastParity = 2
	maxShards   = blockShards + blockShards/perParity

	// MaxFrame is the most bytes of a frame.
	MaxFrame = 256<<20 + 64<<10
)

// layout is the division of a frame into blocks and shards. Its value is the size of the frame in bytes.
type layout int

// blocks returns the number of blocks.
func (l layout) blocks() int { return (int(l) + blockBytes - 1) / blockBytes }

// span returns where a block lies in the frame.
func (l layout) span(block int) Span {
	return Span{block * blockBytes, min((block+1)*blockBytes, int(l))}
}

// shards returns the number of data and of parity shards of a block, and the bytes of each shard.
func (l layout) shards(block int) (data, parity, bytes int) {
	n := l.span(block).To - l.span(block).From
	data = (n + shardBytes - 1) / shardBytes
	return data, max(leastParity, (data+perParity-1)/perParity), (n + data - 1) / data
}

// A Span is the bytes of a frame from From up to, but not including, To.
type Span struct{ From, To int }

// head is the header of a datagram.
type head struct {
	shard  uint8
	block  uint32
	size   uint32
	serial uint64
}

func (h head) append(dst []byte) []byte {
	dst = append(dst, format, h.shard)
	dst = binary.BigEndian.AppendUint32(dst, h.block)
	dst = binary.BigEndian.AppendUint32(dst, h.size)
	return binary.BigEndian.AppendUint64(dst, h.serial)
}

// datagram returns the datagram of a shard.
func (h head) datagram(key, shard []byte) []byte {
	to := h.append(make([]byte, 0, headBytes+tagBytes+len(shard)))
	return append(append(to, tagOf(key, to, shard)...), shard...)
}

func tagOf(key, head, shard []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(head)
	mac.Write(shard)
	return mac.Sum(nil)[:tagBytes]
}

// parse reads a datagram. ok is false unless it was made with the key and is a shard of a valid layout.
func parse(key, datagram []byte) (h head, shard []byte, ok bool) {
	if len(key) == 0 || len(datagram) < headBytes+tagBytes || datagram[0] != format {
		return h, nil, false
	}
	shard = datagram[headBytes+tagBytes:]
	if !hmac.Equal(datagram[headBytes:headBytes+tagBytes], tagOf(key, datagram[:headBytes], shard)) {
		return h, nil, false
	}
	h.shard = datagram[1]
	h.block = binary.BigEndian.Uint32(datagram[2:])
	h.size = binary.BigEndian.Uint32(datagram[6:])
	h.serial = binary.BigEndian.Uint64(datagram[10:])
	l := layout(h.size)
	if h.size == 0 || h.size > MaxFrame || int64(h.block) >= int64(l.blocks()) {
		return h, nil, false
	}
	data, parity, bytes := l.shards(int(h.block))
	return h, shard, int(h.shard) < data+parity && len(shard) == bytes
}

// coders are the Reed-Solomon codes, by their number of data shards. Safe for concurrent use.
type coders struct {
	mu sync.Mutex
	by [blockShards + 1]reedsolomon.Encoder
}

func (c *coders) of(data, parity int) reedsolomon.Encoder {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[data] == nil {
		coder, err := reedsolomon.New(data, parity, reedsolomon.WithMaxGoroutines(1))
		if err != nil {
			panic(fmt.Sprintf("multicast: a code of %d and %d shards: %v", data, parity, err))
		}
		c.by[data] = coder
	}
	return c.by[data]
}
