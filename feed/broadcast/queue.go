package broadcast

import "sync"

// A queue holds the frames that a client has not taken yet. It has no bound of its own: the server passes over a
// client with too much in its queue.
type queue struct {
	mu     sync.Mutex
	frames [][]byte
	bytes  int
	closed bool
	ready  chan struct{} // one token: the queue has a frame, or is closed
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

func (q *queue) put(frame []byte) {
	q.mu.Lock()
	q.frames, q.bytes = append(q.frames, frame), q.bytes+len(frame)
	q.mu.Unlock()
	q.signal()
}

// close ends the queue. Its frames can still be taken.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take returns the first frame, or nil if there is none. more is false at the end of a closed queue.
func (q *queue) take() (frame []byte, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.frames) == 0 {
		return nil, !q.closed
	}
	frame, q.frames = q.frames[0], q.frames[1:]
	return frame, true
}

// taken notes that a frame has been sent, and returns how many bytes are left.
func (q *queue) taken(frame []byte) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= len(frame)
	return q.bytes
}

func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}
