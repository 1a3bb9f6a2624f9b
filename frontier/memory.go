package frontier

import (
	"slices"

	"freshet/weburl"
)

// MemoryQueues are queues in memory: for simulations, experiments and tests. The zero value is empty
// and ready. It is not safe for concurrent use.
type MemoryQueues struct {
	queues map[queueName][]Entry
}

type queueName struct {
	site weburl.Site
	kind Kind
}

// Add puts e in a site's queue, in place of an entry with the same key. O(entries of the queue) at
// worst, O(log) at its end.
func (m *MemoryQueues) Add(site weburl.Site, kind Kind, e Entry) {
	if m.queues == nil {
		m.queues = make(map[queueName][]Entry)
	}
	name := queueName{site, kind}
	q := m.queues[name]
	i, found := find(q, e.Key)
	if found {
		q[i] = e
		return
	}
	m.queues[name] = slices.Insert(q, i, e)
}

// Remove takes the entry with that key out of a site's queue and says whether it was there.
func (m *MemoryQueues) Remove(site weburl.Site, kind Kind, k Key) bool {
	name := queueName{site, kind}
	q := m.queues[name]
	i, found := find(q, k)
	switch {
	case !found:
		return false
	case len(q) == 1:
		delete(m.queues, name)
	case i == 0:
		m.queues[name] = q[1:]
	default:
		m.queues[name] = slices.Delete(q, i, i+1)
	}
	return true
}

// Len returns the number of entries in a site's queue.
func (m *MemoryQueues) Len(site weburl.Site, kind Kind) int {
	return len(m.queues[queueName{site, kind}])
}

// Read implements Queues; its error is always nil.
func (m *MemoryQueues) Read(dst []Entry, site weburl.Site, kind Kind, after Key, n int) ([]Entry, error) {
	q := m.queues[queueName{site, kind}]
	i, found := find(q, after)
	if found {
		i++
	}
	return append(dst, q[i:min(len(q), i+max(0, n))]...), nil
}

// find returns where in the sorted entries k is, or would be.
func find(entries []Entry, k Key) (int, bool) {
	return slices.BinarySearchFunc(entries, k, func(e Entry, k Key) int {
		switch {
		case e.Key == k:
			return 0
		case e.Key.Less(k):
			return -1
		}
		return 1
	})
}
