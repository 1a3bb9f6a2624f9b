package node

import (
	"freshet/crawl/explain"
	"freshet/store"
	"freshet/weburl"
)

// troubled is the maximum number of pages that Trouble checks.
const troubled = 20

// Trouble returns what keeps the first page in trouble from being stored, for a crawl that has not stored a page since
// its first run. Without a page, it returns what keeps the first seed out. It returns nil if a page is stored, or if
// all pages only have to wait. It reads the sites of the partitions of the pages that it checks.
func (n *Node) Trouble() (*explain.Trouble, error) {
	total, err := n.store.Total()
	if err != nil || total.Versions > 0 || total.States[store.StatePurged] > 0 {
		return nil, err
	}
	about, now := n.about(Unhurried), n.opt.Clock.Now()
	if seeds := n.current().Options.Seeds; total.Pages == 0 && len(seeds) > 0 {
		explained, err := about.Explain(seeds[0].String(), now)
		if err != nil || explained.StoppedBy != "scope" && explained.StoppedBy != "guard" {
			return nil, err
		}
		return explain.Outside(seeds[0], explained.Reason), nil
	}
	looked := 0
	for p := range n.store.Partitions() {
		for row, err := range n.store.Pages(weburl.Partition(p)) {
			if err != nil || looked == troubled {
				return nil, err
			}
			looked++
			explained, err := about.Explain(row.URL.String(), now)
			if err != nil || explained.Trouble != nil {
				return explained.Trouble, err
			}
		}
	}
	return nil, nil
}
