package frontier

import "freshet/weburl"

// Kind names one of a site's two queues.
type Kind uint8

// The two queues.
const (
	KindNew Kind = iota // discovered, never fetched; ordered by the Ordering
	KindDue             // known, to be fetched again; ordered by due time
)

// String returns "new" or "due".
func (k Kind) String() string {
	if k == KindDue {
		return "due"
	}
	return "new"
}

// Key is a page's place in a queue: the smallest is first, by Order and then by Arrival. No two pages of a queue have
// the same key. The zero Key is before all others and belongs to no page.
type Key struct {
	Order   uint64 // for a new page the result of Ordering.PageOrder; for a due page its due time in unix ns
	Arrival uint64 // order of discovery; at least 1
}

// Less reports whether k comes before other.
func (k Key) Less(other Key) bool {
	return k.Order < other.Order || k.Order == other.Order && k.Arrival < other.Arrival
}

// Entry is one page in a queue.
type Entry struct {
	Key         Key
	Fingerprint weburl.Fingerprint
	Cash        float64 // importance that links have carried to the page; 0 if the ordering does not use it
}

// Queues reads the queues of all sites, from wherever they are kept. The frontier calls it only from within its own
// methods.
type Queues interface {
	// Read appends to dst up to n entries of a site's queue, in order, starting with the first key strictly after
	// after. Fewer than n entries mean that there are no more. An entry stays in its queue until the outcome of its
	// page is stored.
	Read(dst []Entry, site weburl.Site, kind Kind, after Key, n int) ([]Entry, error)
}
