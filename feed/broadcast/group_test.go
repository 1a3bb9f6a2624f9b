package broadcast_test

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"freshet/clock"
	"freshet/feed/broadcast"
	"freshet/feed/broadcast/multicast"
	"freshet/feed/mirror"
	"freshet/internal/crawled"
)

// ether carries datagrams to all who listen, in memory.
type ether struct {
	mu        sync.Mutex
	listening map[*antenna]bool
	sent      int
}

func (e *ether) Write(datagram []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sent++
	for a := range e.listening {
		a.arrive(bytes.Clone(datagram))
	}
	return len(datagram), nil
}

// An antenna is a connection that receives from the ether, badly: it loses a part of the datagrams, alters a
// part, and lets a part be overtaken. A full buffer loses what comes.
type antenna struct {
	net.PacketConn
	ether          *ether
	chance         *rand.Rand
	loss, altering float64
	overtaking     float64
	late           [][]byte
	buffer         chan []byte
	closed         chan struct{}
}

// listen returns a function that joins the ether through a bad antenna.
func (e *ether) listen(seed uint64, loss, altering, overtaking float64) func(string) (net.PacketConn, error) {
	return func(string) (net.PacketConn, error) {
		a := &antenna{
			ether: e, chance: rand.New(rand.NewPCG(seed, 3)), loss: loss, altering: altering, overtaking: overtaking,
			buffer: make(chan []byte, 4096), closed: make(chan struct{}),
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.listening == nil {
			e.listening = map[*antenna]bool{}
		}
		e.listening[a] = true
		return a, nil
	}
}

func (a *antenna) arrive(datagram []byte) {
	if a.chance.Float64() < a.loss {
		return
	}
	if a.chance.Float64() < a.altering {
		datagram[a.chance.IntN(len(datagram))] ^= 0x40
	}
	if a.late = append(a.late, datagram); a.chance.Float64() < a.overtaking && len(a.late) < 20 {
		return
	}
	for _, v := range slices.Backward(a.late) { // the last comes first
		select {
		case a.buffer <- v:
		default:
		}
	}
	a.late = nil
}

func (a *antenna) ReadFrom(p []byte) (int, net.Addr, error) {
	select {
	case datagram := <-a.buffer:
		return copy(p, datagram), nil, nil
	case <-a.closed:
		return 0, nil, net.ErrClosed
	}
}

func (a *antenna) Close() error {
	a.ether.mu.Lock()
	defer a.ether.mu.Unlock()
	delete(a.ether.listening, a)
	close(a.closed)
	return nil
}

// serveGroup lets a feed of a world send to a group through out.
func serveGroup(t *testing.T, w *crawled.Web, out io.Writer, o broadcast.Options) (*broadcast.Server, string) {
	sender := multicast.NewSender(out, 20e6, clock.Real())
	t.Cleanup(sender.Close)
	o.Transport = broadcast.NewGroup(netip.MustParseAddrPort("239.255.83.50:8352"), sender, 7)
	return serveFeed(t, w, o)
}

// TestBadDatagrams keeps mirrors by multicast while 30 % of the datagrams are lost, others come late, and some
// are altered: nothing is missing in the end, and no mirror has ever held a wrong byte. One of the clients
// takes its chunks over HTTP, one hears nothing at all.
func TestBadDatagrams(t *testing.T) {
	w := crawled.New(t, 3, 8)
	sky := &ether{}
	feed, address := serveGroup(t, w, sky, broadcast.Options{ChunkBytes: 2000})
	var wrong atomic.Int64
	listens := []func(string) (net.PacketConn, error){nil, (&ether{}).listen(9, 0, 0, 0)}
	for seed := range uint64(6) {
		listens = append(listens, sky.listen(seed, 0.3, 0.02*float64(seed%2), 0.5))
	}
	var all []*subscriber
	for _, listen := range listens {
		o := mirror.Options{Addresses: []string{address}, Dir: t.TempDir(), Listen: listen}
		o.OnChange = func(c mirror.Change) error {
			content, err := os.ReadFile(filepath.Join(o.Dir, filepath.FromSlash(c.File)))
			if err != nil || fmt.Sprintf("%x", sha1.Sum(content)) != c.Digest {
				wrong.Add(1)
			}
			return nil
		}
		all = append(all, subscribe(t, o))
	}
	for round := range 6 {
		for _, s := range all {
			s.awaitEqual(w)
		}
		for site := range 3 {
			w.Set(crawled.URL(site, 1+round), fmt.Sprintf("text %d of site %d", round, site))
			w.Visit(crawled.URL(site, 1+round))
		}
	}
	for _, s := range all {
		s.awaitEqual(w)
		s.stop()
	}
	totals, err := feed.Totals(t.Context())
	if err != nil || sky.sent == 0 || totals.RepairedBytes == 0 || wrong.Load() > 0 {
		t.Errorf("%d datagrams, %d bytes repaired, %d wrong digests, %v", sky.sent, totals.RepairedBytes, wrong.Load(), err)
	}
}
