package feed

import (
	"container/heap"
	"errors"
	"fmt"

	"freshet/store"
	"freshet/weburl"
)

// Span is the part of the change log after one cursor, up to another. An entry leaves it when its page changes again.
// No entry ever enters it.
type Span struct{ From, To Cursor }

// ParseSpan reads two cursors of a directory. Its error is ErrCursor, or ErrBehind if they are outside of the log.
func ParseSpan(s *store.Store, from, to string) (here Span, err error) {
	var wrong error
	here.From, err = ParseCursor(from, s.Partitions())
	here.To, wrong = ParseCursor(to, s.Partitions())
	if err = errors.Join(err, wrong); err != nil {
		return here, err
	}
	for p := range here.To {
		total, err := s.Counters(weburl.Partition(p))
		switch {
		case err != nil:
			return here, err
		case here.From[p] > here.To[p] || here.To[p] > total.Records:
			return here, fmt.Errorf("%w: records %d to %d of partition %d, which has %d", ErrBehind, here.From[p], here.To[p], p, total.Records)
		}
	}
	return here, nil
}

// Walk calls do for every entry of the span: in the log's order within a partition, and the earliest first among the
// next entries of the partitions. It returns the first error of do. It holds 64 entries per partition.
func (h Span) Walk(s *store.Store, do func(Entry) error) error {
	var next tails
	for p := range h.From {
		r := &tail{partition: weburl.Partition(p), at: h.From[p], end: h.To[p]}
		if err := r.fill(s); err != nil {
			return err
		}
		if len(r.next) > 0 {
			next = append(next, r)
		}
	}
	for heap.Init(&next); len(next) > 0; {
		r := next[0]
		if err := do(Entry{r.partition, r.next[0]}); err != nil {
			return err
		}
		if r.next = r.next[1:]; len(r.next) == 0 {
			if err := r.fill(s); err != nil {
				return err
			}
		}
		if len(r.next) == 0 {
			heap.Pop(&next)
		} else {
			heap.Fix(&next, 0)
		}
	}
	return nil
}

// tail is the rest of a partition that a walk has to read: next, and the entries after record at up to end.
type tail struct {
	partition weburl.Partition
	next      []store.Change
	at, end   uint64
}

// entriesOfTail is how many entries of a partition are read at once.
const entriesOfTail = 64

func (r *tail) fill(s *store.Store) (err error) {
	if r.at >= r.end {
		return nil
	}
	if r.next, err = s.Changes(r.partition, r.at, entriesOfTail); err != nil {
		return err
	}
	full := len(r.next) == entriesOfTail
	for len(r.next) > 0 && r.next[len(r.next)-1].Record > r.end {
		r.next = r.next[:len(r.next)-1]
		full = false
	}
	if r.at = r.end; full {
		r.at = r.next[len(r.next)-1].Record
	}
	return nil
}

// tails is a heap of the tails that have entries, the earliest first.
type tails []*tail

func (h tails) Len() int { return len(h) }
func (h tails) Less(i, j int) bool {
	if a, b := h[i].next[0].At, h[j].next[0].At; a != b {
		return a < b
	}
	return h[i].partition < h[j].partition
}
func (h tails) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *tails) Push(r any)   { *h = append(*h, r.(*tail)) }
func (h *tails) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}
