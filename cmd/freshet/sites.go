package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"freshet/dashboard"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// siteNumbers is a site with the numbers that sites can be sorted by, in the order of dashboard.SiteOrders.
type siteNumbers struct {
	site    weburl.Site
	numbers [len(siteNumber)]uint32 // at most the largest
}

// siteNumber returns each of the numbers of a site.
var siteNumber = [...]func(store.SiteRow) int64{
	func(row store.SiteRow) int64 { return row.Pages },
	func(row store.SiteRow) int64 { return row.Fetched },
	func(row store.SiteRow) int64 { return row.New },
	func(row store.SiteRow) int64 { return row.Due },
	func(row store.SiteRow) (sum int64) {
		for _, refused := range row.Refused {
			sum += refused.Count
		}
		return sum
	},
}

// readSites returns the numbers of all sites, by name. They take some 70 bytes a site.
func readSites(s *store.Store) (all []siteNumbers, err error) {
	for p := range s.Partitions() {
		for row, err := range s.Sites(weburl.Partition(p)) {
			if err != nil {
				return nil, err
			}
			one := siteNumbers{site: row.Site}
			for i, number := range siteNumber {
				one.numbers[i] = uint32(min(number(row), math.MaxUint32))
			}
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(x, y siteNumbers) int { return strings.Compare(string(x.site), string(y.site)) })
	return all, nil
}

// Sites implements dashboard.Reader. The rows that it shows are those of now.
func (r reader) Sites(ctx context.Context, q dashboard.SiteQuery) (table dashboard.Sites, err error) {
	found, matching, at, err := r.matching(ctx, q)
	if err != nil {
		return table, err
	}
	table = dashboard.Sites{Matching: matching, AsOf: at, Sites: []dashboard.Site{}}
	var waits [][]frontier.Obstacle
	if r.waits != nil {
		waits = r.waits(found)
	}
	for i, name := range found {
		row, err := r.store.Site(name)
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

// matching returns the sites that a query shows, in order, the number of all that match it, and the time at which that
// was true; nil: now. Without a part of a name, the first of each partition are enough for the first sites by name. All
// else is found in the numbers of all sites, which are kept.
func (r reader) matching(ctx context.Context, q dashboard.SiteQuery) (found []weburl.Site, matching int64, at *time.Time, err error) {
	if q.Sort == dashboard.SiteOrders[0] && q.Part == "" && q.From+q.Limit <= firstSites {
		found, matching, err = r.firstSites(q)
		return found, matching, nil, err
	}
	all, read, err := r.sites.get(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	by, part := slices.Index(dashboard.SiteOrders, q.Sort)-1, asStored(q.Part)
	var keys []uint64 // a site's number, or what it lacks of the largest, above its place by name
	for i, one := range all {
		if !strings.Contains(string(one.site), part) {
			continue
		}
		number, place := uint32(0), uint32(i)
		switch {
		case by >= 0 && q.Backward:
			number = math.MaxUint32 - one.numbers[by]
		case by >= 0:
			number = one.numbers[by]
		case q.Backward:
			place = math.MaxUint32 - place
		}
		keys = append(keys, uint64(number)<<32|uint64(place))
	}
	slices.Sort(keys)
	for _, key := range keys[min(q.From, len(keys)):min(q.From+q.Limit, len(keys))] {
		place := uint32(key)
		if by < 0 && q.Backward {
			place = math.MaxUint32 - place
		}
		found = append(found, all[place].site)
	}
	return found, int64(len(keys)), when(read), nil
}

// asStored returns a part of a URL as it stands in stored ones: in small letters, and words of a host beyond ASCII in
// punycode.
func asStored(part string) string {
	if !utf8.ValidString(part) {
		return part
	}
	part = strings.ToLower(part)
	scheme, rest, has := strings.Cut(part, "://")
	if has {
		scheme += "://"
	} else {
		scheme, rest = "", part
	}
	end := len(rest)
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		end = i
	}
	host, err := idna.Punycode.ToASCII(rest[:end])
	if err != nil {
		return part
	}
	return scheme + host + rest[end:]
}

// firstSites is how many sites by name are read without those that come after them.
const firstSites = 1000

// firstSites returns the first sites by name that a query shows, and the number of all sites.
func (r reader) firstSites(q dashboard.SiteQuery) (found []weburl.Site, sites int64, err error) {
	most := q.From + q.Limit
	for p := range r.store.Partitions() {
		taken := 0
		for site, err := range r.store.SiteNames(weburl.Partition(p), q.Backward) {
			if err != nil {
				return nil, 0, err
			}
			if taken == most {
				break
			}
			taken++
			found = append(found, site)
		}
	}
	slices.Sort(found)
	if q.Backward {
		slices.Reverse(found)
	}
	total, err := r.store.Total()
	return found[min(q.From, len(found)):min(most, len(found))], total.Sites, err
}

// site returns a site from its row, the gate of its host and its due queue.
func (r reader) site(row store.SiteRow) (site dashboard.Site, err error) {
	site = dashboard.Site{Site: string(row.Site), Host: row.Site.Host(), Pages: row.Pages, Fetched: row.Fetched, Pending: row.New, Due: row.Due,
		Refused: map[string]int64{}, Robots: robotsInWords(row.Robots), PausedSince: whenNs(row.Paused), Purged: row.Purged, Waits: []dashboard.Wait{},
		OrderedS: time.Duration(row.Pace.Delay).Seconds(), OrderedMost: row.Pace.Budget}
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

// LastChanges implements dashboard.Reader. It reads at most loggedAtOnce last entries of the change log, as many of
// each partition.
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
			if looked++; looked > loggedAtOnce/(to-from) || taken == q.Limit {
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
	loggedAtOnce = 20_000 // entries of the change log that LastChanges reads
	lookedAtOnce = 4000   // rows that Find reads
	foundAtOnce  = 50     // pages that Find returns
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
	lower := asStored(part)
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
	part = asStored(part)
	_, host, has := strings.Cut(part, "://")
	if !has {
		host = part
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
