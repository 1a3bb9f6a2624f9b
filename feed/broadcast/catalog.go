package broadcast

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"freshet/feed"
	"freshet/feed/broadcast/scheduler"
	"freshet/store"
	"freshet/weburl"
)

// pageKey names a page's row.
type pageKey struct {
	p  weburl.Partition
	fp weburl.Fingerprint
}

// place is the position of a page: its chunk, and its index in the chunk.
type place struct {
	chunk int32
	page  uint8
}

// known is what the catalog keeps about a page. The rest is in the store.
type known struct {
	fp     weburl.Fingerprint
	record uint64 // of its last change
	ended  bool   // it has nothing to send
	lost   bool   // its body is damaged or gone, and that was logged
}

// run is a chunk: pages of one site, up to the chunk's bytes. Its list of pages never changes.
type run struct {
	p     weburl.Partition
	site  weburl.Site
	pages []known
}

// catalog holds all pages and their chunks. It is built by reading the change log from its start, and takes about 80
// bytes a page. New pages of a site that come at once form chunks together.
type catalog struct {
	store      *store.Store
	logger     *slog.Logger
	chunkBytes int
	places     map[pageKey]place
	runs       []run
	sites      map[weburl.Site][]int    // their numbers, by site
	domains    map[string][]weburl.Site // by registrable domain
}

func newCatalog(s *store.Store, logger *slog.Logger, chunkBytes int) *catalog {
	return &catalog{store: s, logger: logger, chunkBytes: chunkBytes, places: map[pageKey]place{}, sites: map[weburl.Site][]int{}, domains: map[string][]weburl.Site{}}
}

// add adds an empty chunk of a site.
func (c *catalog) add(p weburl.Partition, site weburl.Site) {
	if len(c.sites[site]) == 0 {
		c.domains[site.Domain()] = append(c.domains[site.Domain()], site)
	}
	c.sites[site] = append(c.sites[site], len(c.runs))
	c.runs = append(c.runs, run{p: p, site: site})
}

// among returns the chunks with pages that an interest may match, in order: O(chunks returned), but O(sites) with
// patterns.
func (c *catalog) among(interest *Interest) (numbers []int) {
	if interest.all() {
		for number := range c.runs {
			numbers = append(numbers, number)
		}
		return numbers
	}
	for _, site := range interest.Sites {
		numbers = append(numbers, c.sites[weburl.Site(site)]...)
	}
	for _, domain := range interest.Domains {
		for _, site := range c.domains[domain] {
			numbers = append(numbers, c.sites[site]...)
		}
	}
	if len(interest.Patterns) > 0 {
		for site, chunks := range c.sites {
			if interest.touches(site) {
				numbers = append(numbers, chunks...)
			}
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// pageOverhead is about how many bytes a page takes in a chunk apart from its body.
const pageOverhead = 512

// bytesOf returns the bytes that the page of an entry takes in a chunk.
func (c *catalog) bytesOf(e feed.Entry) int32 {
	if e.Kind.Ended() {
		return pageOverhead
	}
	v, err := c.store.Version(e.Partition, e.Fingerprint, e.Version)
	if err != nil {
		return pageOverhead // it has changed since: another entry follows
	}
	return int32(min(v.Size, maxBody)) + pageOverhead
}

// update applies an entry of a known page. ok is false for a new page.
func (c *catalog) update(e feed.Entry) (at place, ok bool) {
	at, ok = c.places[pageKey{e.Partition, e.Fingerprint}]
	if ok {
		page := &c.runs[at.chunk].pages[at.page]
		page.record, page.ended, page.lost = e.Record, e.Kind.Ended(), false
	}
	return at, ok
}

// form makes chunks of new pages. It returns them in order, for the scheduler.
func (c *catalog) form(entries []feed.Entry) (chunks []scheduler.Chunk) {
	slices.SortStableFunc(entries, func(a, b feed.Entry) int { return strings.Compare(string(a.URL.Site()), string(b.URL.Site())) })
	for i, e := range entries {
		size := c.bytesOf(e)
		last := len(chunks) - 1
		full := i == 0 || e.URL.Site() != entries[i-1].URL.Site() || chunks[last].Pages == scheduler.MaxPages ||
			chunks[last].Bytes+float64(size) > float64(c.chunkBytes)
		if full {
			chunks = append(chunks, scheduler.Chunk{Bytes: pageOverhead})
			c.add(e.Partition, e.URL.Site())
			last++
		}
		number := len(c.runs) - 1
		to, chunk := &c.runs[number], &chunks[last]
		c.places[pageKey{e.Partition, e.Fingerprint}] = place{int32(number), uint8(len(to.pages))}
		to.pages = append(to.pages, known{fp: e.Fingerprint, record: e.Record, ended: e.Kind.Ended()})
		chunk.Pages, chunk.Bytes, chunk.Sizes = chunk.Pages+1, chunk.Bytes+float64(size), append(chunk.Sizes, size)
	}
	for i := range chunks {
		chunks[i].Bytes = pageOverhead // of the chunk itself: its pages count by Sizes
	}
	return chunks
}

// wanted returns the pages of a chunk that an interest matches.
func (c *catalog) wanted(number int, interest *Interest) (pages uint64) {
	r := &c.runs[number]
	if interest.site(r.site) {
		return ^uint64(0) >> (scheduler.MaxPages - len(r.pages))
	}
	if !interest.touches(r.site) {
		return 0
	}
	for i, page := range r.pages {
		if row, err := c.store.Page(r.p, page.fp); err == nil && interest.Wants(row.URL) {
			pages |= 1 << i
		}
	}
	return pages
}

// load reads the current versions of some pages of a chunk from this disk. It takes those that cannot be read there
// from has.
func (c *catalog) load(number int, pages uint64, has map[weburl.Fingerprint]Page) (*Chunk, error) {
	r := &c.runs[number]
	chunk := &Chunk{Number: number, Site: string(r.site)}
	for i := range r.pages {
		if pages&(1<<i) == 0 {
			continue
		}
		current, err := c.current(r.p, &r.pages[i], true)
		if read, ok := has[r.pages[i].fp]; errors.Is(err, errUnread) && ok && read.Version == current.Version {
			current, err = read, nil
		}
		if err != nil {
			return nil, err
		}
		chunk.Pages = append(chunk.Pages, current)
	}
	return chunk, nil
}

// fetched is the outcome of reading pages of a chunk beside the loop.
type fetched struct {
	number int
	run    run // as it was, with what was found out about its pages
	pages  map[weburl.Fingerprint]Page
	err    error
}

// fetch reads some pages of a chunk beside the loop, which an object store could delay for minutes. It sends the
// outcome.
func (c *catalog) fetch(number int, pages uint64, to chan<- *fetched) {
	f := &fetched{number: number, run: c.runs[number], pages: map[weburl.Fingerprint]Page{}}
	f.run.pages = slices.Clone(f.run.pages)
	go func() {
		for i := range f.run.pages {
			if its := &f.run.pages[i]; f.err == nil && pages&(1<<i) != 0 {
				f.pages[its.fp], f.err = c.current(f.run.p, its, false)
			}
		}
		to <- f
	}()
}

// learn notes which pages were found lost beside the loop.
func (c *catalog) learn(f *fetched) {
	for i, then := range f.run.pages {
		if its := &c.runs[f.number].pages[i]; its.record == then.record {
			its.lost = then.lost
		}
	}
}

// errUnread matches the errors of bodies that cannot be read now, but may be later.
var errUnread = errors.New("broadcast: a page cannot be read now")

// current reads a page's current version. A body that is not kept, too long or lost is withheld. With onDisk it reads
// nothing from an object store. With errUnread the page's version is valid.
func (c *catalog) current(p weburl.Partition, its *known, onDisk bool) (page Page, err error) {
	row, err := c.store.Page(p, its.fp)
	if err != nil {
		return page, fmt.Errorf("broadcast: page %s of partition %d: %w", its.fp, p, err)
	}
	page = Page{URL: row.URL.String(), Version: row.Versions, At: row.LastChanged, MovedTo: row.MovedTo.String()}
	if row.State != store.StateLive {
		page.Kind = row.State.String()
		return page, nil
	}
	page.Kind = "withheld"
	version, err := c.store.Version(p, its.fp, row.Versions)
	if err != nil || version.Capture.IsZero() || version.Size > maxBody {
		return page, nil
	}
	if onDisk && !c.store.OnDisk(version.Capture) {
		return page, errUnread
	}
	body, err := c.store.VersionBody(row.URL, &version)
	if store.IsLost(err) {
		if !its.lost {
			its.lost = true
			c.logger.Warn("the feed withholds a page: "+store.LostRemedy, "url", page.URL, "error", err)
		}
		return page, nil
	}
	if err != nil {
		return page, fmt.Errorf("%w: %s: %w", errUnread, page.URL, err)
	}
	page.Kind, page.At, page.Status = "", version.At, version.Status
	page.Digest, page.Body = version.BodyDigest, body.Payload
	for name, values := range body.Header {
		for _, value := range values {
			page.Header = append(page.Header, Field{Name: name, Value: value})
		}
	}
	slices.SortStableFunc(page.Header, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return page, nil
}
