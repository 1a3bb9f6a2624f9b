package share

// Vitals are a few numbers about a node's work that it reports to the other nodes.
type Vitals struct {
	Pages    int64   `json:"pages"`                     // stored by this run
	PagesS   float64 `json:"recent_pages_per_s"`        // over the last seconds
	Failed   int64   `json:"urls_failed"`               // fetches of this run without a page
	Queued   int64   `json:"queued"`                    // pages in queues, new and due
	DiskFree int64   `json:"disk_free_bytes,omitempty"` // of the data directory's disk; 0: not known
	Fetches  int     `json:"fetches_allowed"`           // maximum fetches at the same time, by the node's controller
	// Paused and SitesPaused are what operators have ordered: a pause of the whole crawl, or of single sites.
	Paused      bool `json:"paused"`
	SitesPaused int  `json:"sites_paused"`
}

// And returns the combined vitals of two nodes. Free bytes are those of the node with the fewest.
func (v Vitals) And(o Vitals) Vitals {
	v.Pages, v.PagesS, v.Failed, v.Fetches = v.Pages+o.Pages, v.PagesS+o.PagesS, v.Failed+o.Failed, v.Fetches+o.Fetches
	v.Queued += o.Queued
	v.Paused, v.SitesPaused = v.Paused || o.Paused, v.SitesPaused+o.SitesPaused
	if v.DiskFree == 0 || o.DiskFree > 0 && o.DiskFree < v.DiskFree {
		v.DiskFree = o.DiskFree
	}
	return v
}
