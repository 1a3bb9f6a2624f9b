package broadcast

import (
	"errors"
	"fmt"
	"slices"

	"freshet/feed"
	"freshet/store"
	"freshet/weburl"
)

// inventory is what a client claims to have: everything up to a cursor, or certain pages, or nothing. A false claim
// harms only the client.
type inventory struct {
	upTo  feed.Cursor      // nil: it lists pages
	pages map[pageKey]bool // its pages; true if it has the version that was current at asOf
	asOf  feed.Cursor
	drop  []string // URLs that are unknown
}

// inventoryOf reads a client's inventory. asOf is the log's position before the look-up. Its errors are ErrCursor,
// ErrBehind and the store's.
func inventoryOf(s *store.Store, ask *Subscription, asOf feed.Cursor) (*inventory, error) {
	c := &inventory{asOf: asOf}
	if len(ask.Have) == 0 && ask.Cursor != "" {
		reader, err := feed.NewReader(s, ask.Cursor, "")
		if err != nil {
			return nil, err
		}
		c.upTo = reader.Cursor()
		return c, nil
	}
	c.pages = make(map[pageKey]bool, len(ask.Have))
	for text, digest := range ask.Have {
		u, err := weburl.Parse(text)
		if err != nil {
			c.drop = append(c.drop, text)
			continue
		}
		row, fp, err := s.PageOf(u)
		switch {
		case errors.Is(err, store.ErrNotFound) || err == nil && row.LastChange == 0:
			c.drop = append(c.drop, text)
		case err != nil:
			return nil, err
		default:
			c.pages[pageKey{s.Home(u.Site()), fp}] = fmt.Sprintf("%x", row.BodyDigest[:]) == digest
		}
	}
	slices.Sort(c.drop)
	return c, nil
}

// lacks returns the pages of a chunk that the client lacks, or has and should not have.
func (c *inventory) lacks(r *run) (pages uint64) {
	for i, page := range r.pages {
		current, has := c.pages[pageKey{r.p, page.fp}]
		var lacking bool
		switch {
		case c.upTo != nil:
			lacking = page.record > c.upTo[r.p]
		case page.ended:
			lacking = has
		default:
			lacking = !current || page.record > c.asOf[r.p]
		}
		if lacking {
			pages |= 1 << i
		}
	}
	return pages
}
