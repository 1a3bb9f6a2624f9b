package scheduler

// RQ sends the chunk of largest R/(Q·b) (Lam and Garcia-Molina 2001, section 3). R/b is its requests a byte. Q is
// the smallest outstanding request, in chunks, of a client that lacks anything of it.
//
// A change of a client's Q changes the key of every chunk that it wants. The chunks need no new keys, because
//
//	max_i R_i/b_i / min_{k lacks i} Q_k = max_k ( max_{i lacked by k} R_i/b_i ) / Q_k
//
// RQ keeps for each client a ranking of the chunks that it lacks, by R/b. One more ranking orders the clients by
// the top of their ranking over Q. A touch or a sending sets an entry in two rankings for each client of the chunk;
// a pick is O(1). Memory: 17 bytes for each chunk that a client wants, and for 16 at least.
type RQ struct {
	d       *Demand
	lacked  []ranking // by client; ids are slots, ties chunks
	clients ranking   // ids are clients, ties the chunks on top of theirs
}

// NewRQ returns an RQ.
func NewRQ() *RQ { return &RQ{} }

// Attach implements Scheduler.
func (s *RQ) Attach(d *Demand) { s.d = d }

// Need implements PairFollower: the touch that follows does the work.
func (s *RQ) Need(k, slot, i int, now float64) {}

// Drop implements PairFollower.
func (s *RQ) Drop(k, slot, i int, now float64) {
	s.lacked[k].remove(int32(slot))
	s.rank(int32(k))
}

// Touch implements Scheduler.
func (s *RQ) Touch(i int, now float64) {
	c := &s.d.chunks[i]
	if len(s.lacked) < len(s.d.clients) {
		s.lacked = append(s.lacked, make([]ranking, len(s.d.clients)-len(s.lacked))...)
	}
	key := s.d.Requests(i) / s.d.Cost(i)
	for g := &c.head; g != nil; g = g.next {
		if g.paused || g.missing == 0 {
			continue
		}
		for _, who := range g.members {
			if s.d.held[i] {
				s.lacked[who.client].remove(who.slot)
			} else {
				s.lacked[who.client].set(entry{key, int32(i), who.slot})
			}
			s.rank(who.client)
		}
	}
}

// rank ranks a client by its best chunk and its outstanding request.
func (s *RQ) rank(k int32) {
	lacked := &s.lacked[k]
	best, ok := lacked.top()
	if !ok {
		s.clients.remove(k)
		return
	}
	s.clients.set(entry{best.key / float64(s.d.clients[k].lacks), best.tie, k})
}

// Pick implements Scheduler. Of chunks with equal keys it is the one of lowest number.
func (s *RQ) Pick(now float64) (int, bool) {
	top, ok := s.clients.top()
	return int(top.tie), ok
}
