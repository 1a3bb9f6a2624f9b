package text

// Nodes returns how many nodes the walk has met.
func (p *Page) Nodes() int { return p.nodes }
