package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"freshet/dashboard"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// sorted is a site with its place in the table.
type sorted struct {
	site weburl.Site
	key  int64
}

// best holds the first sites of a table in its order, so that a request holds no more sites than it asks for.
type best struct {
	most  int // sites
	found []sorted
	order func(x, y sorted) int
}

func bestOf(q dashboard.SiteQuery) best {
	return best{most: q.From + q.Limit, order: func(x, y sorted) int {
		byName := strings.Compare(string(x.site), string(y.site))
		switch {
		case q.Backward && q.Sort == "site":
			return -byName
		case q.Backward:
			return cmp.Or(cmp.Compare(y.key, x.key), byName)
		}
		return cmp.Or(cmp.Compare(x.key, y.key), byName)
	}}
}

func (b *best) add(one sorted) {
	if b.found = append(b.found, one); len(b.found) >= 2*max(b.most, mostSorted) {
		b.cut()
	}
}

// mostSorted is how many sites are held at least before they are sorted and cut.
const mostSorted = 1000

// cut leaves the first sites, in order.
func (b *best) cut() {
	slices.SortFunc(b.found, b.order)
	b.found = b.found[:min(b.most, len(b.found))]
}

// Sites implements dashboard.Reader. It reads the rows of all sites only if they are sorted by a number, and no more
// names than it needs. It holds as many sites as the query skips and shows, about twice.
func (r reader) Sites(q dashboard.SiteQuery) (table dashboard.Sites, err error) {
	found, matching, err := r.matching(q)
	if err != nil {
		return table, err
	}
	table = dashboard.Sites{Matching: matching, Sites: []dashboard.Site{}}
	found = found[min(q.From, len(found)):]
	var waits [][]frontier.Obstacle
	if r.waits != nil {
		names := make([]weburl.Site, len(found))
		for i, one := range found {
			names[i] = one.site
		}
		waits = r.waits(names)
	}
	for i, one := range found {
		row, err := r.store.Site(one.site)
		if errors.Is(err, store.ErrNotFound) { // removed meanwhile
			continue
		}
		if err != nil {
			return table, err
		}
		site, err := r.site(row)
		if err != nil {
			return table, err
		}
		if waits != nil {
			for _, o := range waits[i] {
				site.Waits = append(site.Waits, dashboard.Wait{For: o.Gate, Until: when(o.Until)})
			}
		}
		table.Sites = append(table.Sites, site)
	}
	return table, nil
}

// matching returns the first sites that a query selects, in order, and the number of all. Without a part of a name, the
// first of each partition are enough if the sites are sorted by name.
func (r reader) matching(q dashboard.SiteQuery) (found []sorted, matching int64, err error) {
	part, byName, first := strings.ToLower(q.Part), q.Sort == "site", bestOf(q)
	for p := range r.store.Partitions() {
		p, taken := weburl.Partition(p), 0
		if !byName {
			for row, err := range r.store.Sites(p) {
				if err != nil {
					return nil, 0, err
				}
				if strings.Contains(string(row.Site), part) {
					matching++
					first.add(sorted{row.Site, siteKey(row, q.Sort)})
				}
			}
			continue
		}
		for site, err := range r.store.SiteNames(p, q.Backward) {
			if err != nil {
				return nil, 0, err
			}
			if part == "" && taken == first.most {
				break
			}
			if !strings.Contains(string(site), part) {
				continue
			}
			matching++
			if taken++; taken <= first.most {
				first.add(sorted{site: site})
			}
		}
	}
	first.cut()
	if !byName || part != "" {
		return first.found, matching, nil
	}
	total, err := r.store.Total()
	return first.found, total.Sites, err
}

// siteKey returns the sort key of a site.
func siteKey(row store.SiteRow, by string) int64 {
	switch by {
	case "pages":
		return row.Pages
	case "fetched":
		return row.Fetched
	case "pending":
		return row.New
	case "due":
		return row.Due
	case "refused":
		sum := int64(0)
		for _, refused := range row.Refused {
			sum += refused.Count
		}
		return sum
	}
	return 0
}

// site returns a site from its row, the gate of its host and its due queue.
func (r reader) site(row store.SiteRow) (site dashboard.Site, err error) {
	site = dashboard.Site{Site: string(row.Site), Host: row.Site.Host(), Pages: row.Pages, Fetched: row.Fetched, Pending: row.New, Due: row.Due,
		Refused: map[string]int64{}, Robots: robotsInWords(row.Robots), PausedSince: whenNs(row.Paused), Purged: row.Purged, Waits: []dashboard.Wait{}}
	for _, refused := range row.Refused {
		site.Refused[refused.Reason] = refused.Count
	}
	gate, err := r.store.Gate(r.store.Home(row.Site), row.Site.Name())
	if err != nil {
		return site, err
	}
	site.DelayS, site.Failures = time.Duration(gate.IntervalNs).Seconds(), gate.Failures
	if row.New+row.Due > 0 {
		site.NextRequest = whenNs(gate.Next)
	}
	if now := r.now().UnixNano(); gate.Blocked > now {
		site.Blocked = true
		if until := time.Unix(0, gate.Blocked); until.Before(r.now().AddDate(200, 0, 0)) {
			site.BlockedUntil = when(until)
		}
	}
	if row.Due > 0 {
		due, err := r.store.ReadQueue(nil, row.Site, store.DueQueue, store.Key{}, 1)
		if err != nil {
			return site, err
		}
		if len(due) > 0 {
			site.NextDue = whenNs(int64(due[0].Key.Order))
		}
	}
	return site, nil
}

// robotsInWords describes the state of a robots.txt.
func robotsInWords(state store.RobotsState) string {
	switch {
	case state.Fetched == 0:
		return "not asked for"
	case state.Status == 200:
		return "obeyed"
	case state.Status == 404 || state.Status == 410:
		return fmt.Sprintf("none (%d)", state.Status)
	case state.Status != 0:
		return fmt.Sprintf("answers %d", state.Status)
	case state.Outcome == store.OutcomeFailed:
		return "no answer"
	}
	return state.Outcome.String()
}

// LastChanges implements dashboard.Reader. It reads at most loggedAtOnce last entries of the change log of each
// partition.
func (r reader) LastChanges(q dashboard.ChangeQuery) (all []dashboard.Change, err error) {
	from, to := 0, r.store.Partitions()
	var site weburl.Site
	if q.Site != "" {
		u, err := weburl.Parse(q.Site)
		if err != nil {
			return nil, wrong(fmt.Errorf("site: %w", err))
		}
		site = u.Site()
		from = int(r.store.Home(site))
		to = from + 1
	}
	for p := from; p < to; p++ {
		looked, taken := 0, 0
		for c, err := range r.store.LastChanges(weburl.Partition(p)) {
			if err != nil {
				return nil, err
			}
			if looked++; looked > loggedAtOnce || taken == q.Limit {
				break
			}
			at := time.Unix(0, c.At).UTC()
			if q.Kind != "" && c.Kind.String() != q.Kind || site != "" && c.URL.Site() != site || !q.Before.IsZero() && !at.Before(q.Before) {
				continue
			}
			taken++
			one := dashboard.Change{URL: c.URL.String(), Kind: c.Kind.String(), At: at, Version: c.Version}
			if !c.MovedTo.IsZero() {
				one.MovedTo = c.MovedTo.String()
			}
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(x, y dashboard.Change) int { return y.At.Compare(x.At) })
	return all[:min(q.Limit, len(all))], nil
}

const (
	loggedAtOnce = 2000 // entries of a partition's change log that LastChanges reads
	lookedAtOnce = 4000 // rows that Find reads
	foundAtOnce  = 50   // pages that Find returns
	sitesFound   = 20
)

// Find implements dashboard.Reader. A URL is one read of the page table. It finds a site by the beginning of its
// host, and searches the site's pages only in its partition.
func (r reader) Find(part, after string) (found dashboard.Finding, err error) {
	first, last := 0, r.store.Partitions()
	if u, err := weburl.Parse(part); err == nil {
		row, _, err := r.store.PageOf(u)
		switch {
		case err == nil && after == "":
			found.Pages = append(found.Pages, pageOf(row))
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return found, err
		}
		if _, err := r.store.Site(u.Site()); err == nil {
			first = int(r.store.Home(u.Site()))
			last = first + 1
		}
	}
	at := weburl.Fingerprint(0)
	if after != "" {
		if _, err := fmt.Sscanf(after, "%d-%x", &first, &at); err != nil || first < 0 || first >= last {
			return found, wrong(fmt.Errorf("after %.50q: want the value from an earlier answer", after))
		}
	} else if part != "" {
		if found.Sites, err = r.sitesFrom(part); err != nil {
			return found, err
		}
	}
	lower := strings.ToLower(part)
	for p := first; p < last; p++ {
		for row, err := range r.store.PagesFrom(weburl.Partition(p), at) {
			if err != nil {
				return found, err
			}
			if found.Looked == lookedAtOnce || len(found.Pages) == foundAtOnce {
				found.Next = fmt.Sprintf("%d-%x", p, uint64(row.Fingerprint))
				return found, nil
			}
			found.Looked++
			if text := row.URL.String(); strings.Contains(strings.ToLower(text), lower) && text != exactOf(found.Pages) {
				found.Pages = append(found.Pages, pageOf(row.Page))
			}
		}
		at = 0
	}
	return found, nil
}

// exactOf returns the URL of the first page, which Find may have found by its whole URL.
func exactOf(pages []dashboard.Page) string {
	if len(pages) == 0 {
		return ""
	}
	return pages[0].URL
}

// sitesFrom returns sites whose host begins with a text, ignoring www. It seeks in the sites of each partition.
func (r reader) sitesFrom(part string) (sites []string, err error) {
	_, host, has := strings.Cut(strings.ToLower(part), "://")
	if !has {
		host = strings.ToLower(part)
	}
	host, _, _ = strings.Cut(host, "/")
	for p := range r.store.Partitions() {
		for _, begins := range []string{"https://", "http://", "https://www.", "http://www."} {
			for row, err := range r.store.SitesFrom(weburl.Partition(p), begins+host) {
				if err != nil {
					return nil, err
				}
				if len(sites) == sitesFound {
					return sites, nil
				}
				sites = append(sites, string(row.Site))
			}
		}
	}
	slices.Sort(sites)
	return slices.Compact(sites), nil
}
