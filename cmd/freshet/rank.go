package main

import (
	"context"
	"errors"

	"freshet/importance"
	"freshet/store"
	"freshet/weburl"
)

// rankedLinks is the largest number of links in the ranking of an export, at about 9 bytes each.
const rankedLinks = 1 << 25

// ranks returns the PageRank of pages by the links between them, 1 on average. If there are too many links, only the
// first ones of each page count. Links that must not be followed do not count.
func ranks(ctx context.Context, s *store.Store, pages []compared) (map[weburl.Fingerprint]float64, error) {
	number := make(map[weburl.Fingerprint]uint32, len(pages))
	for i := range pages {
		number[pages[i].fingerprint] = uint32(i)
	}
	var b importance.Builder
	var targets []uint32
	most := max(1, rankedLinks/max(1, len(pages)))
	for _, page := range pages {
		links, err := followed(s, page)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		targets = targets[:0]
		for _, link := range links[:min(most, len(links))] {
			if target, ok := number[link.URL.Fingerprint()]; ok {
				targets = append(targets, target)
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
	if err != nil {
		return nil, err
	}
	of := make(map[weburl.Fingerprint]float64, len(pages))
	for i, rank := range found.Of {
		of[pages[i].fingerprint] = rank * float64(len(pages))
	}
	return of, nil
}

// followed returns the links of a page that may be followed.
func followed(s *store.Store, page compared) ([]store.OutLink, error) {
	row, err := s.Page(page.partition, page.fingerprint)
	if err != nil || row.NoFollow {
		return nil, err
	}
	return s.OutLinks(page.partition, page.fingerprint)
}
