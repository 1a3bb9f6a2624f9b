package node

import (
	"freshet/crawl/explain"
	"freshet/store"
	"freshet/weburl"
)

// troubled bounds the pages that Trouble looks at.
const troubled = 20

// Trouble returns what keeps the first page that is in trouble from being stored, of a crawl that has stored none
// since the first run. It returns nil if one is stored, or if nothing more than time stands in the way of any.
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
