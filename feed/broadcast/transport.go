package broadcast

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"freshet/feed"
)

// A Transport carries frames to clients. It makes no decisions.
type Transport interface {
	// Send delivers a frame to all of the sessions, or begins to, and returns the bytes to send for it.
	Send(frame []byte, to []*Session) (bytes int64)
	// Copies reports whether each receiver gets its own copy.
	Copies() bool
	// Routes adds the transport's own requests to the feed's address.
	Routes(*http.ServeMux)
	// Key returns the key by which receivers verify datagrams; nil: there are none.
	Key() []byte
	// Repaired returns the bytes that were sent again because they were lost. Safe for concurrent use.
	Repaired() int64
}

// Streams is the transport of HTTP: each client gets a copy on its own connection.
type Streams struct{}

// Send implements Transport.
func (Streams) Send(frame []byte, to []*Session) (bytes int64) {
	for _, session := range to {
		session.queue.put(frame)
		bytes += int64(len(frame))
	}
	return bytes
}

// Copies implements Transport.
func (Streams) Copies() bool { return true }

// Routes implements Transport: there are none.
func (Streams) Routes(*http.ServeMux) {}

// Key implements Transport: there is none.
func (Streams) Key() []byte { return nil }

// Repaired implements Transport: a stream loses nothing.
func (Streams) Repaired() int64 { return 0 }

// A Datagrams sends frames to all receivers of a group; see freshet/feed/broadcast/multicast.
type Datagrams interface {
	// Send queues a frame to be sent once, behind the frames before it. It returns how many bytes will be sent, and
	// how long that takes by the machine's clock. Each serial is larger than the one before.
	Send(serial uint64, frame []byte) (bytes int64, takes time.Duration)
	// Key returns the key by which receivers verify this sender's datagrams.
	Key() []byte
}

// keptFrames bounds the frames kept for repair, in bytes.
const keptFrames = 64 << 20

// A Group is the transport of multicast: it sends a frame once to all clients that listen to a group. Each of them
// also gets the frame's serial, size and digest on its stream, in order with its other messages. It requests missing
// parts, as long as the frame is among the last 64 MiB. Clients that do not listen get copies on their streams. So
// does a client that would be the only listener, because parity would cost more than it saves.
//
//	GET /feed/group              {"group":"239.255.83.50:8352"}
//	GET /feed/frame?serial=N     a frame; with Range a part of it; 410 if it is no longer kept
type Group struct {
	address netip.AddrPort
	out     Datagrams

	mu       sync.Mutex
	last     uint64 // serial
	kept     []sentFrame
	bytes    int
	repaired int64
}

type sentFrame struct {
	serial uint64
	frame  []byte
}

// NewGroup returns the transport of a group at an address. Serials begin after first. Use the time in nanoseconds, so
// that frames are not mistaken for those of an earlier server of the group.
func NewGroup(address netip.AddrPort, out Datagrams, first uint64) *Group {
	return &Group{address: address, out: out, last: first}
}

// Send implements Transport.
func (g *Group) Send(frame []byte, to []*Session) (bytes int64) {
	listening := 0
	for _, session := range to {
		if session.ask.Multicast {
			listening++
		}
	}
	if listening < 2 {
		return Streams{}.Send(frame, to)
	}
	serial := g.keep(frame)
	bytes, takes := g.out.Send(serial, frame)
	notice, err := AppendFrame(nil, &Message{Sent: &Sent{Serial: serial, Bytes: len(frame), Digest: sha256.Sum256(frame), TakesMs: takes.Milliseconds()}})
	if err != nil {
		panic(err) // of our own making, and small
	}
	for _, session := range to {
		if session.ask.Multicast {
			session.queue.put(notice)
			bytes += int64(len(notice))
		} else {
			session.queue.put(frame)
			bytes += int64(len(frame))
		}
	}
	return bytes
}

// keep keeps a frame for repair, and returns its serial.
func (g *Group) keep(frame []byte) (serial uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last++
	g.kept = append(g.kept, sentFrame{g.last, frame})
	for g.bytes += len(frame); g.bytes > keptFrames && len(g.kept) > 1; g.kept = g.kept[1:] {
		g.bytes -= len(g.kept[0].frame)
	}
	return g.last
}

// Copies implements Transport.
func (g *Group) Copies() bool { return false }

// Routes implements Transport.
func (g *Group) Routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /feed/group", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"group": g.address.String()})
	})
	mux.HandleFunc("GET /feed/frame", g.repair)
}

func (g *Group) repair(w http.ResponseWriter, r *http.Request) {
	serial, err := strconv.ParseUint(r.URL.Query().Get("serial"), 10, 64)
	if err != nil {
		feed.Refuse(w, http.StatusBadRequest, fmt.Errorf("broadcast: serial %.40q: want a number", r.URL.Query().Get("serial")))
		return
	}
	frame := g.frame(serial)
	if frame == nil {
		feed.Refuse(w, http.StatusGone, fmt.Errorf("broadcast: frame %d is not kept", serial))
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	counted := &counter{ResponseWriter: w}
	http.ServeContent(counted, r, "", time.Time{}, bytes.NewReader(frame))
	g.mu.Lock()
	g.repaired += counted.bytes
	g.mu.Unlock()
}

func (g *Group) frame(serial uint64) []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.kept) == 0 || serial < g.kept[0].serial || serial > g.last {
		return nil
	}
	return g.kept[serial-g.kept[0].serial].frame
}

// Key implements Transport.
func (g *Group) Key() []byte { return g.out.Key() }

// Repaired implements Transport.
func (g *Group) Repaired() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.repaired
}

// counter counts what is written.
type counter struct {
	http.ResponseWriter
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.bytes += int64(n)
	return n, err
}
