package refresh

// pieceWork is the size of a piece of long work, in pages valued, visits used, or days of a group.
const pieceWork = 1024

// pieces divides long work into pieces and yields after each. After yield has returned false, the rest is one piece.
// With a nil *pieces, all work is one piece.
type pieces struct {
	yield func() bool
	done  int // of the piece
}

// did counts n units of work and yields at the end of a piece. n must be much less than a piece.
func (p *pieces) did(n int) {
	if p == nil {
		return
	}
	if p.done += n; p.done < pieceWork {
		return
	}
	p.done = 0
	if p.yield != nil && !p.yield() {
		p.yield = nil
	}
}
