package resourcesync

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"freshet/clock"
	"freshet/feed"
	"freshet/store"
	"freshet/weburl"
)

// The paths of the lists.
const (
	sourcePath       = "/.well-known/resourcesync"
	capabilitiesPath = "/resourcesync/capabilities.xml"
	resourcesPath    = "/resourcesync/resources.xml"
	changesPath      = "/resourcesync/changes.xml"
)

// mostOfList is the largest number of entries of a list (sitemaps.org).
const mostOfList = 50_000

var errLong = errors.New("resourcesync: more entries than a list may have: begin at its index")

// A Source serves the stored pages and their changes as the lists of ResourceSync (ANSI/NISO Z39.99-2017), which are
// extended sitemaps:
//
//	GET /.well-known/resourcesync            the source description, which leads to
//	GET /resourcesync/capabilities.xml       the capability list, and that to the others
//	GET /resourcesync/resources.xml          the resource list: the pages that are live
//	GET /resourcesync/changes.xml?since=     the change list: from a cursor on, or the oldest change kept
//	GET /resourcesync/resources/FROM/TO      a part of a list of more than ListEntries, which is an index
//	GET /resourcesync/changes/FROM/TO
//
// Both lists are read from the change log, which holds the last entry of every page. A resource list shows the pages
// at a cursor. A page that changes while the list is read is left out; the changes after the cursor have it, and the
// link "monitor" leads to them. A list of n entries takes O(n log n) time and 24 bytes an entry. The first index of
// the whole log reads all of it, later ones only the new entries. It keeps two cursors per part. Safe for concurrent
// use.
type Source struct {
	Store       *store.Store
	Clock       *clock.Clock
	ListEntries int // of a list, at most; 0: 50,000

	mu            sync.Mutex
	live, changed []partOf // of the whole lists, as last cut
}

// Handler returns the HTTP handler of the lists.
func (s *Source) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+sourcePath, func(w http.ResponseWriter, r *http.Request) {
		s.contents(w, r, listMeta{Capability: "description"}, nil, capabilitiesPath, "capabilitylist")
	})
	mux.HandleFunc("GET "+capabilitiesPath, func(w http.ResponseWriter, r *http.Request) {
		up := []listLink{{Rel: "up", Href: origin(r) + sourcePath}}
		s.contents(w, r, listMeta{Capability: "capabilitylist"}, up, resourcesPath, "resourcelist", changesPath, "changelist")
	})
	mux.HandleFunc("GET "+resourcesPath, s.resources)
	mux.HandleFunc("GET "+changesPath, s.changes)
	mux.HandleFunc("GET /resourcesync/resources/{from}/{to}", func(w http.ResponseWriter, r *http.Request) { s.part(w, r, true) })
	mux.HandleFunc("GET /resourcesync/changes/{from}/{to}", func(w http.ResponseWriter, r *http.Request) { s.part(w, r, false) })
	return mux
}

// contents writes a document with links to others: their paths and capabilities.
func (s *Source) contents(w http.ResponseWriter, r *http.Request, is listMeta, links []listLink, others ...string) {
	d := beginDocument(w, s.Clock, "urlset", is, links)
	for other := range slices.Chunk(others, 2) {
		d.add(listItem{Loc: origin(r) + other[0], Meta: listMeta{Capability: other[1]}})
	}
	d.end()
}

func (s *Source) resources(w http.ResponseWriter, r *http.Request) {
	at := s.Clock.Now()
	now, err := feed.NewReader(s.Store, "", "")
	if err != nil {
		feed.Refuse(w, feed.CodeOf(err), err)
		return
	}
	all := feed.Span{From: make(feed.Cursor, s.Store.Partitions()), To: now.Cursor()}
	s.list(w, r, list{Span: all, live: true, at: at})
}

func (s *Source) changes(w http.ResponseWriter, r *http.Request) {
	now, err := feed.NewReader(s.Store, "", "")
	if err != nil {
		feed.Refuse(w, feed.CodeOf(err), err)
		return
	}
	since, err := feed.NewReader(s.Store, cmp.Or(r.URL.Query().Get("since"), feed.Start), "")
	if err != nil {
		feed.Refuse(w, feed.CodeOf(err), err)
		return
	}
	s.list(w, r, list{Span: feed.Span{From: since.Cursor(), To: now.Cursor()}, at: s.Clock.Now()})
}

// part serves a part of an index.
func (s *Source) part(w http.ResponseWriter, r *http.Request, live bool) {
	here, err := feed.ParseSpan(s.Store, r.PathValue("from"), r.PathValue("to"))
	if err != nil {
		feed.Refuse(w, feed.CodeOf(err), err)
		return
	}
	asked := list{Span: here, live: live, part: true, at: s.Clock.Now()}
	if live {
		if asked.at, err = time.Parse(time.RFC3339Nano, r.URL.Query().Get("at")); err != nil {
			feed.Refuse(w, http.StatusBadRequest, fmt.Errorf("resourcesync: resource list: %w", err))
			return
		}
	}
	s.write(w, r, asked, "")
}

// list is a list of the live pages, or of all changes, in a span of the log.
type list struct {
	feed.Span
	live bool
	part bool      // of an index
	at   time.Time // of a resource list: when it was the present state
}

// wants reports whether an entry belongs into the list.
func (l *list) wants(e feed.Entry) bool { return !l.live || !e.Kind.Ended() }

// path returns the path of the whole list.
func (l *list) path() string {
	if l.live {
		return resourcesPath
	}
	return changesPath
}

// list writes a list, or its index if it is too long.
func (s *Source) list(w http.ResponseWriter, r *http.Request, asked list) {
	parts, err := s.parts(asked)
	monitor := origin(r) + changesPath + "?since=" + asked.To.String()
	switch {
	case err != nil:
		feed.Refuse(w, feed.CodeOf(err), err)
		return
	case len(parts) == 1:
		s.write(w, r, asked, monitor)
		return
	}
	links := []listLink{{Rel: "up", Href: origin(r) + capabilitiesPath}, {Rel: "monitor", Href: monitor}}
	d := beginDocument(w, s.Clock, "sitemapindex", asked.meta(parts[0].first), links)
	for _, p := range parts {
		is := listMeta{From: datetime(p.first), Until: datetime(p.last)}
		query := ""
		if asked.live {
			is = listMeta{At: asked.meta(0).At}
			query = "?at=" + url.QueryEscape(is.At)
		}
		d.add(listItem{Loc: origin(r) + strings.TrimSuffix(asked.path(), ".xml") + "/" + p.From.String() + "/" + p.To.String() + query, Meta: is})
	}
	d.end()
}

// meta returns the metadata of the list. first is the time of its first entry.
func (l *list) meta(first int64) listMeta {
	if l.live {
		return listMeta{Capability: "resourcelist", At: datetime(l.at.UnixNano())}
	}
	return listMeta{Capability: "changelist", From: datetime(first)}
}

// spot is the position of an entry of a list in the log.
type spot struct {
	at        int64
	record    uint64
	partition weburl.Partition
}

// write writes a list, its entries sorted by time. It keeps only their spots and reads each entry again. It leaves
// out entries that have changed meanwhile: they are among the later changes.
func (s *Source) write(w http.ResponseWriter, r *http.Request, asked list, monitor string) {
	spots, err := s.spots(asked)
	if err != nil {
		code := feed.CodeOf(err)
		if errors.Is(err, errLong) {
			code = http.StatusBadRequest
		}
		feed.Refuse(w, code, err)
		return
	}
	first := asked.at.UnixNano()
	last := first
	if len(spots) > 0 {
		first, last = spots[0].at, spots[len(spots)-1].at
	}
	is, links := asked.meta(first), []listLink{{Rel: "up", Href: origin(r) + capabilitiesPath}}
	if asked.part {
		links = append(links, listLink{Rel: "index", Href: origin(r) + asked.path()})
		if !asked.live {
			is.Until = datetime(last)
		}
	}
	if monitor != "" {
		links = append(links, listLink{Rel: "monitor", Href: monitor})
	}
	d := beginDocument(w, s.Clock, "urlset", is, links)
	for _, at := range spots {
		changes, err := s.Store.Changes(at.partition, at.record-1, 1)
		if err != nil {
			return // the client sees that the document is incomplete
		}
		if len(changes) == 1 && changes[0].Record == at.record {
			d.add(s.item(origin(r), feed.Entry{Partition: at.partition, Change: changes[0]}, asked.live))
		}
	}
	d.end()
}

// spots returns the spots of the entries of a list, sorted by time.
func (s *Source) spots(asked list) (spots []spot, err error) {
	err = asked.Walk(s.Store, func(e feed.Entry) error {
		switch {
		case !asked.wants(e):
			return nil
		case len(spots) == s.most():
			return errLong
		}
		spots = append(spots, spot{e.At, e.Record, e.Partition})
		return nil
	})
	slices.SortFunc(spots, func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.partition, b.partition), cmp.Compare(a.record, b.record))
	})
	return spots, err
}

// item returns the item of an entry. If the version is kept, the link "memento" has its address.
func (s *Source) item(origin string, e feed.Entry, live bool) listItem {
	item := listItem{Loc: e.URL.String()}
	if live {
		item.LastMod = datetime(e.At)
	} else {
		item.Meta = listMeta{Change: changeOf(e.Kind), DateTime: datetime(e.At)}
	}
	v, err := s.Store.Version(e.Partition, e.Fingerprint, e.Version)
	if err != nil || e.Kind.Ended() {
		return item
	}
	kind, _, _ := strings.Cut(v.ContentType, ";")
	item.Meta.Hash, item.Meta.Length, item.Meta.Type = fmt.Sprintf("sha-1:%x", v.BodyDigest[:]), v.Size, strings.TrimSpace(kind)
	if v.Capture != (store.Pointer{}) {
		at := time.Unix(0, v.At).UTC().Format("20060102150405")
		item.Links = []listLink{{Rel: "memento", Href: origin + "/web/" + at + "id_/" + item.Loc}}
	}
	return item
}

// changeOf returns ResourceSync's word for a change.
func changeOf(k store.ChangeKind) string {
	switch {
	case k == store.ChangeNew:
		return "created"
	case k.Ended():
		return "deleted"
	}
	return "updated"
}

func (s *Source) most() int { return cmp.Or(s.ListEntries, mostOfList) }

// datetime formats unix nanoseconds for lists, to the microsecond, so that texts sort like times.
func datetime(at int64) string { return time.Unix(0, at).UTC().Format("2006-01-02T15:04:05.000000Z") }

// origin returns the scheme and host of the request.
func origin(r *http.Request) string {
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" { // or at a proxy
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
