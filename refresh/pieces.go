package refresh

// pieceWork bounds a piece of long work: so many pages are valued, visits looked at, or days of a group.
const pieceWork = 1024

// pieces parts long work into pieces, and yields after each. Once yield has returned false the rest is one
// piece; so is all of it with a nil *pieces.
type pieces struct {
	yield func() bool
	done  int // of the piece
}

// did counts work, of which n is far less than a piece.
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
