package node

import (
	"sync"

	"freshet/crawl"
)

// shares divides two limits among the shards of a node: the number of requests under way, and the number of pages that
// the crawl may store. A shard takes its share at the start of each of its steps, and gives back at the end what it did
// not use. A shard that wants more than it gets is called when others give back.
type shares struct {
	mu    sync.Mutex
	of    []held
	moves int  // hand-overs under way, during which a partition may have no owner
	told  bool // the end of the crawl was reported
}

// held is what one shard has. It counts as used what the shard may use in the step under way.
type held struct {
	asking int   // requests that have not ended
	turns  int   // turns with a request that are not over
	stored int64 // pages
	wants  bool  // more requests
	idle   bool  // no work is left, and no links are in flight to others
}

// limits are the limits on all shards together.
type limits struct {
	asking int
	stored int64 // maximum; 0: no limit, negative: none
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

// end records what a shard has after a step, and returns which other shards to call.
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

// fair returns each interested shard's share of a number of requests. The caller holds the lock.
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

// free returns how many more requests may be under way. The caller holds the lock.
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

// move records that a hand-over of a partition begins (1) or has ended (-1).
func (s *shares) move(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moves += n
}

// over returns, once, the reason for which the crawl has ended, and "" otherwise.
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

// limits returns the present limits on all shards. A single shard applies the limit on pages itself.
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

// giveBack releases what the shard did not use in its step, and ends the crawl when all shards have ended.
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
		return // no single node knows when all work is done
	}
	if why := l.shares.over(most); why != "" {
		l.tell(crawl.End{Reason: why})
	}
}
