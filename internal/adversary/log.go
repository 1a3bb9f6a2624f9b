package adversary

import (
	"net"
	"net/http"
	"sync"
	"time"

	"freshet/clock"
	"freshet/internal/sites"
)

// log records requests and their ends, as the crawler may have seen them. Bytes after the end of an answer do not
// extend it.
type log struct {
	clock *clock.Clock

	mu      sync.Mutex // guards the rest, and all entries
	entries []*entry
	byHost  map[*Host]int
	last    map[net.Conn]*entry // by open connection
}

type entry struct {
	sites.Exchange
	host  *Host
	conn  net.Conn
	nth   int
	sent  int64
	wrote time.Time // when the last piece began to be written
	taken time.Time // when it was written, perhaps into buffers
}

// begin records a request. Its sender has seen the end of the connection's previous answer.
func (l *log) begin(h *Host, conn net.Conn, r *http.Request) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.last[conn]; before != nil && before.End.IsZero() {
		before.End = before.wrote
	}
	if l.byHost == nil {
		l.byHost, l.last = map[*Host]int{}, map[net.Conn]*entry{}
	}
	l.byHost[h]++
	e := &entry{host: h, conn: conn, nth: l.byHost[h]}
	e.Host, e.Target, e.Start = r.Host, r.URL.RequestURI(), l.clock.Now()
	l.entries, l.last[conn] = append(l.entries, e), e
	return e
}

// closed records that the client closed a connection, which ends its answer.
func (l *log) closed(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.last[conn]; e != nil && e.End.IsZero() {
		e.End, e.Cut = l.clock.Now(), true
	}
	delete(l.last, conn)
}

func (l *log) writing(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.wrote = l.clock.Now()
}

func (l *log) written(e *entry, n int, failed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.taken, e.sent = l.clock.Now(), e.sent+int64(n)
	e.Cut = e.Cut || failed && e.End.IsZero()
}

func (l *log) whole(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.End.IsZero() {
		e.End = e.wrote
	}
}

// prompt is how long after its last piece an answer's end may be recorded, on a busy machine.
const prompt = 200 * time.Millisecond

func (l *log) end(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.clock.Now(); !e.End.IsZero() {
		return
	} else if e.End = now; now.Sub(e.taken) < prompt {
		e.End = e.wrote
	}
}

func (l *log) exchanges() []sites.Exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []sites.Exchange
	for _, e := range l.entries {
		all = append(all, e.Exchange)
	}
	return all
}
