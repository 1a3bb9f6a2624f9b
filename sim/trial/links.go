package trial

import (
	"iter"

	"freshet/crawl"
	"freshet/seen"
	"freshet/weburl"
)

// drain drains the seen test.
func (n *node) drain() {
	if n.draining {
		n.fail("turns", "a drain is asked for while another is under way")
	}
	n.draining = true
	n.trace("< drain")
	n.soon(n.took("drain"), func() {
		verdicts, marks, err := n.seen.Drain(nil)
		n.must(err)
		if n.plant == "kept-early" {
			n.must(n.seen.Keep())
		}
		if n.plant == "verdict-lost" && len(verdicts) > 0 && n.draw("lost", n.result.Steps) < 0.2 {
			verdicts = verdicts[1:]
		}
		n.soon(n.took("decided"), func() {
			n.tell(crawl.Decided{Verdicts: verdicts, Marks: marks, Durable: n.seen.Marks()})
		})
	})
}

// rebuild fills the seen test from the page table.
func (n *node) rebuild(r *crawl.Rebuild) {
	n.trace("< rebuild")
	n.soon(n.took("rebuild"), func() {
		marks := make([]seen.Mark, len(r.Linked))
		for p, record := range r.Linked {
			marks[p] = seen.Mark{Partition: weburl.Partition(p), Record: record}
		}
		n.must(n.seen.Rebuild(n.known(), marks))
		n.soon(n.took("rebuilt"), func() { n.tell(crawl.Rebuilt{}) })
	})
}

// known returns all pages as links to them.
func (n *node) known() iter.Seq[weburl.Link] {
	return func(yield func(weburl.Link) bool) {
		for _, page := range n.pages() {
			if !yield(weburl.Link{URL: page.URL, Fingerprint: page.URL.Fingerprint(), Depth: page.Depth}) {
				return
			}
		}
	}
}
