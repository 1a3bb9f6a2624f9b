package store

import (
	"sync"

	"freshet/store/warc"
)

// moved leads a reader that read a row before a rewrite to the new place of its capture. It remembers the last
// rewritten files.
type moved struct {
	mu    sync.Mutex
	files [8]struct {
		name   string
		copies map[int64]warc.Pointer
	}
	next int
}

func (m *moved) set(file string, copies map[int64]warc.Pointer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[m.next].name, m.files[m.next].copies = file, copies
	m.next = (m.next + 1) % len(m.files)
}

// follow returns where a capture was copied to.
func (m *moved) follow(p warc.Pointer) (warc.Pointer, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.files {
		if m.files[i].name == p.File {
			to, found := m.files[i].copies[p.Offset]
			return to, found
		}
	}
	return p, false
}
