package node

import (
	"freshet/crawl/explain"
	"freshet/store"
	"freshet/weburl"
)

// troubled is the maximum number of pages that Trouble checks.
const troubled = 20

// Trouble returns what keeps the first page in trouble from being stored, for a crawl that has not stored a page since
// its first run. It returns nil if a page is stored, or if all pages only have to wait.
func (n *Node) Trouble() (*explain.Trouble, error) {
	total, err := n.store.Total()
	if err != nil || total.Versions > 0 || total.States[store.StatePurged] > 0 {
		return nil, err
	}
	looked := 0
	for p := range n.store.Partitions() {
		for row, err := range n.store.Pages(weburl.Partition(p)) {
			if err != nil || looked == troubled {
				return nil, err
			}
			looked++
			explained, err := n.Explain(row.URL.String())
			if err != nil || explained.Trouble != nil {
				return explained.Trouble, err
			}
		}
	}
	return nil, nil
}
