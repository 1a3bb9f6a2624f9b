package share

// Vitals are what a node tells the others of its work: a few numbers, each of this node alone.
type Vitals struct {
	Pages    int64   `json:"pages"`                     // stored by this run
	PagesS   float64 `json:"recent_pages_per_s"`        // over the last seconds
	Failed   int64   `json:"urls_failed"`               // fetches of this run that brought no page
	Queued   int64   `json:"queued"`                    // pages that wait to be fetched, new and due
	DiskFree int64   `json:"disk_free_bytes,omitempty"` // of the data directory's disk; 0: not known
	Fetches  int     `json:"fetches_allowed"`           // at the same time, as the node's own controller says
}

// And returns what two nodes come to together. The free bytes are those of the node that has the fewest.
func (v Vitals) And(o Vitals) Vitals {
	v.Pages, v.PagesS, v.Failed, v.Fetches = v.Pages+o.Pages, v.PagesS+o.PagesS, v.Failed+o.Failed, v.Fetches+o.Fetches
	v.Queued += o.Queued
	if v.DiskFree == 0 || o.DiskFree > 0 && o.DiskFree < v.DiskFree {
		v.DiskFree = o.DiskFree
	}
	return v
}
