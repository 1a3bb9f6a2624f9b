package share

import "freshet/weburl"

// Report is a node's report before a division.
type Report struct {
	Wants
	// Stored is the number of pages of each of its partitions. Run is the number of pages that its run has stored, of
	// the Granted ones; Seen is the division that granted them.
	Stored  map[weburl.Partition]int64 `json:"stored"`
	Run     int64                      `json:"run_pages"`
	Granted int64                      `json:"granted_pages"`
	Seen    uint64                     `json:"seen"`
	Traffic float64                    `json:"traffic"` // recent, in bytes per second
}

// Grant is a node's part of the limits.
type Grant struct {
	Part
	Pages   int64   `json:"pages"`          // that its run may store, if their number is limited
	Traffic float64 `json:"traffic"`        // fraction of the bandwidth
	Over    bool    `json:"over,omitempty"` // the crawl has the maximum number of pages
}

// Pages returns how many pages the run of each node may store, so that the whole crawl never exceeds most. granted is
// each node's last grant, unless it was surely given back. over means that all pages are stored. While a partition is
// changing owners, Pages changes nothing and ok is false.
func Pages(most int64, partitions int, reports []Report, granted []int64) (grants []int64, over, ok bool) {
	stored, out := int64(0), int64(0)
	told := map[weburl.Partition]int{}
	for i, r := range reports {
		for p, pages := range r.Stored {
			stored += pages
			told[p]++
		}
		out += max(0, granted[i]-r.Run)
	}
	for p := range weburl.Partition(partitions) {
		if told[p] != 1 {
			return nil, false, false
		}
	}
	left := max(0, most-stored-out)
	// The unused grant of a node is at most half of its even part, so that the last pages go to nodes that find some.
	hand := max(1, (left+out)/int64(2*len(reports)))
	grants = append([]int64(nil), granted...)
	for i, r := range reports {
		more := min(left, max(0, hand-max(0, granted[i]-r.Run)))
		if r.New == 0 && r.Pages == 0 && stored > 0 {
			more = 0 // it would store none
		}
		grants[i] = max(granted[i], r.Run) + more
		left -= more
	}
	return grants, stored >= most, true
}

// leastTraffic is the fraction of the bandwidth that is divided evenly.
const leastTraffic = 0.1

// Traffic divides the bandwidth in proportion to the nodes' recent traffic, and leastTraffic of it evenly.
func Traffic(reports []Report) []float64 {
	sum := 0.0
	for _, r := range reports {
		sum += r.Traffic
	}
	parts := make([]float64, len(reports))
	for i, r := range reports {
		even := 1 / float64(len(reports))
		parts[i] = even
		if sum > 0 {
			parts[i] = leastTraffic*even + (1-leastTraffic)*r.Traffic/sum
		}
	}
	return parts
}
