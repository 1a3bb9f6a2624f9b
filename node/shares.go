package node

import (
	"sync"

	"freshet/crawl"
)

// shares are what the shards of a node have of what is for all of them together: requests that may be under way, pages
// until the crawl has as many as it may store. A shard takes its share at the beginning of each of its steps, and
// gives back at the end what it had no use for. Whoever wants more than it gets is called when others give back.
type shares struct {
	mu    sync.Mutex
	of    []held
	moves int  // partitions that are being handed over, and may be nobody's
	told  bool // that the crawl is over
}

// held is what one shard has. What it may use in the step that is under way is counted as used.
type held struct {
	asking int   // requests that have not ended
	turns  int   // with a request, that are not over
	stored int64 // pages
	wants  bool  // more requests
	idle   bool  // nothing is left to do, and nothing is on its way to others
}

// limits are what all shards may have together.
type limits struct {
	asking int
	stored int64 // 0: any number; negative: none
}

// begin returns how many requests of a shard may be under way in its next step.
func (s *shares) begin(shard int, now held, most limits) (asking int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := &s.of[shard]
	*mine = now
	mine.wants = true
	more := max(0, min(s.fair(most.asking)-mine.asking, s.free(most)))
	mine.asking += more
	mine.turns += more
	return mine.asking
}

// end takes note of what a shard has after a step, and returns which others are to be called.
func (s *shares) end(shard int, now held, most limits) (call []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[shard] = now
	if s.free(most) == 0 {
		return nil
	}
	fair := s.fair(most.asking)
	for i, other := range s.of {
		if i != shard && other.wants && other.asking < fair {
			call = append(call, i)
		}
	}
	return call
}

// fair returns how many of some requests are for each of those who want more. The lock is held.
func (s *shares) fair(asking int) int {
	want := 0
	for _, one := range s.of {
		if one.wants {
			want++
		} else {
			asking -= one.asking
		}
	}
	return (asking + want - 1) / max(1, want)
}

// free returns how many more requests may be under way. The lock is held.
func (s *shares) free(most limits) int {
	free, left := most.asking, most.stored
	for _, one := range s.of {
		free -= one.asking
		left -= one.stored + int64(one.turns)
	}
	if most.stored != 0 {
		free = int(min(int64(free), left))
	}
	return max(0, free)
}

// move takes note that a partition begins to be handed over or, with -1, that this has ended.
func (s *shares) move(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moves += n
}

// over tells, once, that the crawl has come to its end, and why: "" if it has not.
func (s *shares) over(most limits) crawl.Stop {
	s.mu.Lock()
	defer s.mu.Unlock()
	turns, stored, idle := 0, int64(0), true
	for _, one := range s.of {
		turns += one.turns
		stored += one.stored
		idle = idle && one.idle
	}
	switch {
	case s.told || s.moves > 0:
		return ""
	case most.stored > 0 && stored >= most.stored && turns == 0:
		s.told = true
		return crawl.MaxPages
	case idle:
		s.told = true
		return crawl.FrontierEmpty
	}
	return ""
}

// held returns what the shard has.
func (l *loop) held() held {
	now := held{asking: l.asking, turns: len(l.visits)}
	if l.several() {
		now.stored = l.shard.Stored()
	}
	return now
}

// limits returns what all shards may have now. One alone knows itself how many pages may be stored.
func (l *loop) limits() limits {
	most := limits{asking: l.fleet.room()}
	if l.several() {
		most.stored = l.current().MaxPages
	}
	if l.opt.Cluster != nil && most.stored > 0 {
		most.stored = l.grantedPages()
	}
	return most
}

// giveBack gives others what the shard had no use for in its step, and ends the crawl when all have come to an end.
func (l *loop) giveBack() {
	now, most := l.held(), l.limits()
	now.wants = l.asking >= l.room
	now.idle = l.several() && l.ends() && l.shard.Idle()
	for _, i := range l.shares.end(l.number, now, most) {
		l.loops[i].mail.stir()
	}
	if !l.several() {
		return
	}
	if l.opt.Cluster != nil {
		return // no node knows alone when all is done
	}
	if why := l.shares.over(most); why != "" {
		l.tell(crawl.End{Reason: why})
	}
}
