package main

import (
	"context"
	"errors"

	"freshet/importance"
	"freshet/store"
)

// rankedLinks is the largest number of links in the ranking of an export, at about 9 bytes each.
const rankedLinks = 1 << 25

// ranks returns the PageRank of each page by the links between them, 1 on average. If there are too many links, only
// the first ones of each page count. Links that must not be followed do not count.
func ranks(ctx context.Context, s *store.Store, all *comparison) ([]float64, error) {
	var b importance.Builder
	var targets []uint32
	most := max(1, rankedLinks/max(1, len(all.pages)))
	for page := range all.pages {
		links, err := followed(all, int32(page))
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		targets = targets[:0]
		for _, link := range links[:min(most, len(links))] {
			if target, ok := all.find(s.Home(link.URL.Site()), link.URL.Fingerprint()); ok {
				targets = append(targets, uint32(target))
			}
		}
		if err := b.Add(targets); err != nil {
			return nil, err
		}
	}
	graph, err := b.Graph()
	if err != nil {
		return nil, err
	}
	found, err := importance.NewRanker(graph).Rank(importance.RankOptions{Tolerance: 1e-6, Workers: 1})
	for i := range found.Of {
		found.Of[i] *= float64(len(all.pages))
	}
	return found.Of, err
}

// followed returns the links of a page that may be followed.
func followed(all *comparison, page int32) ([]store.OutLink, error) {
	row, err := all.row(page)
	if err != nil || row.NoFollow {
		return nil, err
	}
	return all.store.OutLinks(all.home(page), all.pages[page])
}
