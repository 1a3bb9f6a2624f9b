package cache

// links holds the neighbours of every slot in its list. A slot is on one list at most.
type links []struct{ before, after int32 }

// list is a list of slots through links, from the newest to the oldest.
type list struct {
	newest, oldest int32 // -1 where empty
	len            int
}

var emptyList = list{newest: -1, oldest: -1}

// push puts a slot at the newest end.
func (l *list) push(of links, slot int) {
	of[slot].before, of[slot].after = -1, l.newest
	if l.newest >= 0 {
		of[l.newest].before = int32(slot)
	} else {
		l.oldest = int32(slot)
	}
	l.newest = int32(slot)
	l.len++
}

// remove takes a slot out, wherever it is.
func (l *list) remove(of links, slot int) {
	before, after := of[slot].before, of[slot].after
	if before >= 0 {
		of[before].after = after
	} else {
		l.newest = after
	}
	if after >= 0 {
		of[after].before = before
	} else {
		l.oldest = before
	}
	l.len--
}

// pop takes the oldest slot out of a list that has one.
func (l *list) pop(of links) (slot int) {
	slot = int(l.oldest)
	l.remove(of, slot)
	return slot
}
