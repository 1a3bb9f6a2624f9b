package frontier

import (
	"slices"

	"freshet/weburl"
)

// windowSize is the maximum number of entries of one stored queue in memory, and the size of a read. It is large enough
// that reads are rare compared with fetches, and small enough that 50,000 sites need little memory.
const windowSize = 8

// window is the part of a stored queue that is in memory. The entries with keys up to the cursor are in entries or
// handed out. Entries beyond the cursor are only in the store.
type window struct {
	entries []Entry // sorted
	cursor  Key
	head    Key  // while entries is empty, a lower bound of the keys beyond the cursor; zero: not known
	count   int  // entries in memory and, as far as known, beyond the cursor
	more    bool // whether there may be entries beyond the cursor
}

// top returns the key of the first entry, or a lower bound of it if no entry has been read yet.
func (w *window) top() (Key, bool) {
	switch {
	case w == nil:
		return Key{}, false
	case len(w.entries) > 0:
		return w.entries[0].Key, true
	}
	return w.head, w.more
}

// place adds an entry of the store, in memory or beyond the cursor. It reports whether the entry was not in memory
// before.
func (w *window) place(e Entry) bool {
	i, found := find(w.entries, e.Key)
	switch {
	case found:
		w.entries[i] = e
		return false
	case !w.cursor.Less(e.Key):
		w.entries = slices.Insert(w.entries, i, e)
		w.trim()
	case !w.more && len(w.entries) < windowSize:
		w.entries = append(w.entries, e)
		w.cursor = e.Key
	default:
		w.more = true
		if e.Key.Less(w.head) {
			w.head = e.Key
		}
	}
	return true
}

// trim drops the last entries if there are more than windowSize.
func (w *window) trim() {
	if len(w.entries) > windowSize {
		w.entries = w.entries[:windowSize]
		w.cursor = w.entries[windowSize-1].Key
		w.more = true
	}
}

// drop removes the entry with key k from memory and reports whether it was there.
func (w *window) drop(k Key) bool {
	i, found := find(w.entries, k)
	if found {
		w.entries = slices.Delete(w.entries, i, i+1)
	}
	return found
}

// fill reads until there is an entry in memory or the store has no more. It omits entries for which skip returns true.
// read appends the next windowSize entries after a key.
func (w *window) fill(read func(after Key) ([]Entry, error), skip func(weburl.Fingerprint) bool) error {
	w.head = Key{}
	for w.more && len(w.entries) == 0 {
		next, err := read(w.cursor)
		if err != nil {
			return err
		}
		w.more = len(next) == windowSize
		w.entries = slices.Grow(w.entries, len(next))
		for _, e := range next {
			w.cursor = e.Key
			if !skip(e.Fingerprint) {
				w.entries = append(w.entries, e)
			}
		}
	}
	return nil
}

// rewind removes all entries from memory; the store still has them.
func (w *window) rewind() {
	w.entries, w.cursor, w.head, w.more = nil, Key{}, Key{}, true
}

// extends reports whether the queue may have entries beyond those in memory.
func (w *window) extends() bool { return w.more || w.count > len(w.entries) }

// pop removes and returns the first entry in memory. There must be one.
func (w *window) pop() Entry {
	e := w.entries[0]
	w.entries = slices.Delete(w.entries, 0, 1)
	if len(w.entries) == 0 {
		w.entries = nil
	}
	return e
}

// length returns the number of queued entries.
func (w *window) length() int {
	if w == nil {
		return 0
	}
	return w.count
}
