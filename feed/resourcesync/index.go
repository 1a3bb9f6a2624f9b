package resourcesync

import (
	"slices"

	"freshet/feed"
	"freshet/store"
)

// partOf is a part of an index and the times of its first and last change.
type partOf struct {
	feed.Span
	count       int
	first, last int64
}

// parts cuts a list into parts with at most most entries each, or returns one part if the list is short enough. known
// are the parts of an earlier state of the same list, or none. All but the last of them stay, because no entry can
// enter their spans. So parts reads only the log after them.
func (l *list) parts(in *store.Store, most int, known []partOf) (parts []partOf, err error) {
	from := l.From
	if last := len(known) - 1; last >= 0 {
		parts, from = slices.Clone(known[:last]), known[last].From
	}
	open := partOf{Span: feed.Span{From: from, To: slices.Clone(from)}}
	err = feed.Span{From: from, To: l.To}.Walk(in, func(e feed.Entry) error {
		if !l.wants(e) {
			return nil
		}
		if open.count == most {
			parts = append(parts, open)
			open = partOf{Span: feed.Span{From: open.To, To: slices.Clone(open.To)}}
		}
		if open.count++; open.count == 1 {
			open.first, open.last = e.At, e.At
		}
		open.first, open.last = min(open.first, e.At), max(open.last, e.At)
		open.To[e.Partition] = e.Record
		return nil
	})
	open.To = l.To
	return append(parts, open), err
}

// parts cuts a list into parts that may be served. It remembers the parts of lists from the beginning of the log. So
// an index does not read the whole log, but only one part and the entries since the last index. Entries leave the
// parts when pages change. When half of the counted entries may have left, parts cuts the list again.
func (s *Source) parts(asked list) ([]partOf, error) {
	if slices.Max(asked.From) > 0 {
		return asked.parts(s.Store, s.most(), nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := &s.changed
	if asked.live {
		known = &s.live
	}
	total, err := s.Store.Total()
	if err != nil {
		return nil, err
	}
	if !behind(*known, asked.To) || counted(*known) > 2*int(total.Pages)+s.most() {
		*known = nil
	}
	parts, err := asked.parts(s.Store, s.most(), *known)
	if err == nil {
		*known = parts
	}
	return parts, err
}

// behind reports whether there are parts and the last one begins at or before a cursor.
func behind(parts []partOf, to feed.Cursor) bool {
	if len(parts) == 0 {
		return true
	}
	for p, at := range parts[len(parts)-1].From {
		if at > to[p] {
			return false
		}
	}
	return true
}

// counted returns the number of entries of the parts when they were cut.
func counted(parts []partOf) (entries int) {
	for _, p := range parts {
		entries += p.count
	}
	return entries
}
