package frontier

import (
	"slices"
	"sort"

	"freshet/weburl"
)

// MemoryQueues are queues in memory, for simulations, experiments and tests. The zero value is empty and ready for
// use. They are not safe for concurrent use.
type MemoryQueues struct {
	queues map[queueName]*memoryQueue
}

type queueName struct {
	site weburl.Site
	kind Kind
}

// memoryQueue is one queue, as sorted blocks of at most blockSize entries, none of them empty.
type memoryQueue struct {
	blocks [][]Entry
	length int
}

// blockSize is the largest number of entries that move when one is added.
const blockSize = 256

// Add adds e to a site's queue. It replaces an entry with the same key. In a queue of n entries it moves at most n/256
// blocks or the 256 entries of one block.
func (m *MemoryQueues) Add(site weburl.Site, kind Kind, e Entry) {
	if m.queues == nil {
		m.queues = make(map[queueName]*memoryQueue)
	}
	name := queueName{site, kind}
	q := m.queues[name]
	if q == nil {
		q = &memoryQueue{}
		m.queues[name] = q
	}
	q.add(e)
}

// Remove removes the entry with that key from a site's queue and reports whether it was there.
func (m *MemoryQueues) Remove(site weburl.Site, kind Kind, k Key) bool {
	name := queueName{site, kind}
	q := m.queues[name]
	if q == nil || !q.remove(k) {
		return false
	}
	if q.length == 0 {
		delete(m.queues, name)
	}
	return true
}

// Len returns the number of entries in a site's queue.
func (m *MemoryQueues) Len(site weburl.Site, kind Kind) int {
	if q := m.queues[queueName{site, kind}]; q != nil {
		return q.length
	}
	return 0
}

// Read implements Queues; its error is always nil.
func (m *MemoryQueues) Read(dst []Entry, site weburl.Site, kind Kind, after Key, n int) ([]Entry, error) {
	q := m.queues[queueName{site, kind}]
	if q == nil || n <= 0 {
		return dst, nil
	}
	for b := q.block(after); b < len(q.blocks) && n > 0; b++ {
		block := q.blocks[b]
		i, found := find(block, after)
		if found {
			i++
		}
		taken := block[i:min(len(block), i+n)]
		dst = append(dst, taken...)
		n -= len(taken)
	}
	return dst, nil
}

// block returns the index of the first block whose last key is not before k: the block that has k, or into which k
// belongs. It returns len(q.blocks) if all keys are before k.
func (q *memoryQueue) block(k Key) int {
	return sort.Search(len(q.blocks), func(b int) bool {
		block := q.blocks[b]
		return !block[len(block)-1].Key.Less(k)
	})
}

func (q *memoryQueue) add(e Entry) {
	if len(q.blocks) == 0 {
		q.blocks, q.length = [][]Entry{{e}}, 1
		return
	}
	b := min(q.block(e.Key), len(q.blocks)-1)
	block := q.blocks[b]
	i, found := find(block, e.Key)
	if found {
		block[i] = e
		return
	}
	q.length++
	if len(block) < blockSize {
		q.blocks[b] = slices.Insert(block, i, e)
		return
	}
	if i == blockSize { // at the end of the last block, because pages arrive in order
		q.blocks = append(q.blocks, []Entry{e})
		return
	}
	half := slices.Clone(block[blockSize/2:])
	q.blocks[b] = block[:blockSize/2]
	q.blocks = slices.Insert(q.blocks, b+1, half)
	if i > blockSize/2 {
		b, i = b+1, i-blockSize/2
	}
	q.blocks[b] = slices.Insert(q.blocks[b], i, e)
}

func (q *memoryQueue) remove(k Key) bool {
	b := q.block(k)
	if b == len(q.blocks) {
		return false
	}
	block := q.blocks[b]
	i, found := find(block, k)
	switch {
	case !found:
		return false
	case len(block) == 1:
		q.blocks = slices.Delete(q.blocks, b, b+1)
	case i == 0:
		q.blocks[b] = block[1:]
	default:
		q.blocks[b] = slices.Delete(block, i, i+1)
	}
	q.length--
	return true
}

// find returns the index of k in the sorted entries, or where it would be inserted.
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
