package crawl

// Held is what a shard keeps in memory.
type Held struct {
	Sites       int   // with waiting pages
	Queued      int   // pages in queues, new and due
	Kept        int   // pages that are kept fresh
	Known       int64 // known pages
	RobotsBytes int64 // of robots rules
	Paused      bool  // by an operator
	SitesPaused int   // by orders about these sites alone
}

// Held returns what the shard keeps in memory. O(1).
func (s *Shard) Held() Held {
	queues := s.front.Stats()
	h := Held{Sites: queues.Sites, Queued: queues.QueuedNew + queues.QueuedDue, Known: s.counts.Known, RobotsBytes: s.book.Bytes(),
		Paused: s.paused, SitesPaused: len(s.rests)}
	if s.fresh != nil {
		h.Kept = int(s.fresh.table.end())
	}
	return h
}

// And returns the sum of what two shards keep.
func (h Held) And(o Held) Held {
	return Held{
		h.Sites + o.Sites, h.Queued + o.Queued, h.Kept + o.Kept, h.Known + o.Known, h.RobotsBytes + o.RobotsBytes,
		h.Paused || o.Paused, h.SitesPaused + o.SitesPaused,
	}
}
