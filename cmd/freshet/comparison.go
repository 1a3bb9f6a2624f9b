package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"

	"freshet/dashboard"
	"freshet/store"
	"freshet/text"
	"freshet/text/stored"
	"freshet/weburl"
)

// mostCompared bounds the pages to compare, and so the memory: about 30 bytes each, and 40 more to rank them.
const mostCompared = 20_000_000

// comparison is the live pages of a crawl, by partition and fingerprint, and their groups of near-duplicates.
type comparison struct {
	store *store.Store
	begin []int                // of each partition in pages, and the end
	pages []weburl.Fingerprint // those of a partition are sorted
	group []int32              // of each page: the first page of its group
}

// compare compares the live pages of the crawl.
func (c *corpus) compare(ctx context.Context) (compared *comparison, err error) {
	total, err := c.store.Total()
	if err != nil {
		return nil, err
	}
	if live := total.States[store.StateLive]; live > mostCompared {
		return nil, fmt.Errorf("%d pages are too many to compare: want at most %d; freshet export --since start exports texts without comparing them",
			live, mostCompared)
	}
	if err := os.MkdirAll(cmp.Or(c.temp, os.TempDir()), 0o700); err != nil {
		return nil, err
	}
	signatures, err := os.CreateTemp(c.temp, "signatures-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, signatures.Close()) }()
	if err := os.Remove(signatures.Name()); err != nil { // it can still be used, and is gone however this ends
		return nil, err
	}
	compared = &comparison{store: c.store}
	out := bufio.NewWriterSize(signatures, 1<<20)
	for p := range c.store.Partitions() {
		home := weburl.Partition(p)
		compared.begin = append(compared.begin, len(compared.pages))
		for row, err := range c.store.Pages(home) {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return nil, err
			}
			if row.State != store.StateLive || row.Versions == 0 || len(compared.pages) == mostCompared {
				continue
			}
			sig, err := c.signature(ctx, home, row)
			if err != nil {
				return nil, err
			}
			if _, err := out.Write(sig[:]); err != nil {
				return nil, err
			}
			compared.pages = append(compared.pages, row.Fingerprint)
		}
	}
	compared.begin = append(compared.begin, len(compared.pages))
	if err := out.Flush(); err != nil {
		return nil, err
	}
	compared.group, err = text.Clusters(ctx, signatures, len(compared.pages), func(page int32) (text.Runs, error) {
		home := compared.home(page)
		row, err := c.store.Page(home, compared.pages[page])
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil // it has been taken down meanwhile
		}
		if err != nil {
			return nil, err
		}
		said, err := c.main(ctx, home, store.PageAt{Fingerprint: compared.pages[page], Page: row})
		return text.RunsOf(said), err
	})
	return compared, err
}

// main returns the main text of a page's last version: "" if it has none, or is lost.
func (c *corpus) main(ctx context.Context, home weburl.Partition, row store.PageAt) (said string, err error) {
	v, err := c.store.Version(home, row.Fingerprint, row.Versions)
	if err == nil {
		err = c.ask(func(texts *stored.Reader) error {
			said, err = texts.Main(ctx, row.URL, &v)
			return err
		})
	}
	if errors.Is(err, stored.ErrNoText) || store.IsLost(err) {
		return "", nil
	}
	return said, err
}

// signature returns the signature of a page's last version. If it has no text, too little to compare, or is lost, the
// signature is one that pages with the same body share.
func (c *corpus) signature(ctx context.Context, home weburl.Partition, row store.PageAt) (text.Signature, error) {
	said, err := c.main(ctx, home, row)
	sig := text.Sign(said)
	if sig == (text.Signature{}) {
		for i := range sig {
			sig[i] = row.BodyDigest[i%len(row.BodyDigest)] ^ byte(i)
		}
	}
	return sig, err
}

// home returns the partition of a page.
func (c *comparison) home(page int32) weburl.Partition {
	next, _ := slices.BinarySearch(c.begin, int(page)+1)
	return weburl.Partition(next - 1)
}

// row returns the row of a page.
func (c *comparison) row(page int32) (store.Page, error) {
	return c.store.Page(c.home(page), c.pages[page])
}

// find returns the number of a page.
func (c *comparison) find(p weburl.Partition, fp weburl.Fingerprint) (page int32, ok bool) {
	i, ok := slices.BinarySearch(c.pages[c.begin[p]:c.begin[p+1]], fp)
	return int32(c.begin[p] + i), ok
}

// groups yields the groups of more than one page, the largest first.
func (c *comparison) groups() iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		size := make([]int32, len(c.pages))
		for _, first := range c.group {
			size[first]++
		}
		var members []int32
		for page, first := range c.group {
			if size[first] > 1 {
				members = append(members, int32(page))
			}
		}
		slices.SortFunc(members, func(a, b int32) int {
			a, b, first, second := c.group[a], c.group[b], a, b
			return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(a, b), cmp.Compare(first, second))
		})
		for len(members) > 0 {
			n := size[c.group[members[0]]]
			if !yield(members[:n]) {
				return
			}
			members = members[n:]
		}
	}
}

// describe returns the pages of a group by their URLs.
func (c *comparison) describe(members []int32) (group dashboard.Duplicates, err error) {
	group.Exact = true
	var body store.BodyDigest
	for i, page := range members {
		row, err := c.row(page)
		if err != nil {
			return group, err
		}
		if i == 0 {
			body = row.BodyDigest
		}
		group.URLs = append(group.URLs, row.URL.String())
		group.Exact = group.Exact && row.BodyDigest == body
	}
	slices.Sort(group.URLs)
	group.Cluster, group.Pages = group.URLs[0], len(group.URLs)
	return group, nil
}

// name returns the page with the least URL of a group, which names it.
func (c *comparison) name(members []int32) (least int32, err error) {
	url := ""
	for _, page := range members {
		row, err := c.row(page)
		if err != nil {
			return 0, err
		}
		if u := row.URL.String(); url == "" || u < url {
			least, url = page, u
		}
	}
	return least, nil
}
