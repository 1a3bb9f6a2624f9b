package resourcesync_test

import (
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"freshet/clock"
	"freshet/feed"
	"freshet/feed/resourcesync"
	"freshet/internal/crawled"
	"freshet/store"
	"freshet/weburl"
)

// sitemap is a document as a client of ResourceSync reads it.
type sitemap struct {
	XMLName xml.Name
	Links   []rsLink  `xml:"http://www.openarchives.org/rs/terms/ ln"`
	Meta    rsMeta    `xml:"http://www.openarchives.org/rs/terms/ md"`
	URLs    []rsEntry `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 url"`
	Lists   []rsEntry `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 sitemap"`
}

type rsLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type rsMeta struct {
	Capability string `xml:"capability,attr"`
	At         string `xml:"at,attr"`
	From       string `xml:"from,attr"`
	Until      string `xml:"until,attr"`
	Change     string `xml:"change,attr"`
	DateTime   string `xml:"datetime,attr"`
	Hash       string `xml:"hash,attr"`
	Length     int64  `xml:"length,attr"`
	Type       string `xml:"type,attr"`
}

type rsEntry struct {
	Loc     string   `xml:"loc"`
	LastMod string   `xml:"lastmod"`
	Meta    rsMeta   `xml:"http://www.openarchives.org/rs/terms/ md"`
	Links   []rsLink `xml:"http://www.openarchives.org/rs/terms/ ln"`
}

// link returns where a link of the list leads, or "".
func (s *sitemap) link(rel string) string {
	for _, l := range s.Links {
		if l.Rel == rel {
			return l.Href
		}
	}
	return ""
}

// synchronised serves the lists of a world, with at most this number of entries per list.
func synchronised(t *testing.T, w *crawled.Web, most int) (address string) {
	lists := &resourcesync.Source{Store: w.Store(), Clock: clock.Real(), ListEntries: most}
	server := httptest.NewServer(lists.Handler())
	t.Cleanup(func() {
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return server.URL
}

// readSitemap asks for a sitemap.
func readSitemap(t *testing.T, address string) (s sitemap) {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", address, response.Status)
	}
	if err := xml.NewDecoder(response.Body).Decode(&s); err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	return s
}

// discover follows the links from the well-known place to a list.
func discover(t *testing.T, address, capability string) string {
	t.Helper()
	source := readSitemap(t, address+"/.well-known/resourcesync")
	if source.Meta.Capability != "description" || len(source.URLs) != 1 || source.URLs[0].Meta.Capability != "capabilitylist" {
		t.Fatalf("source description: %+v", source)
	}
	capabilities := readSitemap(t, source.URLs[0].Loc)
	if capabilities.Meta.Capability != "capabilitylist" || capabilities.link("up") != address+"/.well-known/resourcesync" {
		t.Errorf("capability list: %+v", capabilities)
	}
	for _, u := range capabilities.URLs {
		if u.Meta.Capability == capability {
			return u.Loc
		}
	}
	t.Fatalf("no %s in %+v", capability, capabilities)
	return ""
}

// readList returns the entries of a list and its link "monitor". It follows an index.
func readList(t *testing.T, address string, most int) (entries []rsEntry, monitor string) {
	t.Helper()
	list := readSitemap(t, address)
	if list.XMLName.Local == "urlset" {
		if len(list.URLs) > most {
			t.Errorf("%s: %d entries: want at most %d", address, len(list.URLs), most)
		}
		return list.URLs, list.link("monitor")
	}
	for _, l := range list.Lists {
		part := readSitemap(t, l.Loc)
		if len(part.URLs) > most || part.Meta.Capability != list.Meta.Capability || part.Meta.At != list.Meta.At || !strings.HasPrefix(address, part.link("index")) {
			t.Errorf("%s: %+v", l.Loc, part)
		}
		entries = append(entries, part.URLs...)
	}
	return entries, list.link("monitor")
}

// TestResourceSyncLists reads the stored pages of a crawl and their changes, each as one list and through indexes.
func TestResourceSyncLists(t *testing.T) {
	w := crawled.New(t, 3, 4)
	w.Set(crawled.URL(0, 1), "second text")
	w.Visit(crawled.URL(0, 1))
	w.Set(crawled.URL(1, 2), "")
	w.Visit(crawled.URL(1, 2))
	w.Visit(crawled.URL(1, 2))
	for name, most := range map[string]int{"one list": 12, "an index": 3} {
		t.Run(name, func(t *testing.T) {
			address := synchronised(t, w, most)
			live, _ := readList(t, discover(t, address, "resourcelist"), most)
			for _, e := range live {
				if len(e.Meta.Hash) != len("sha-1:")+40 || e.Meta.Length == 0 || e.Meta.Type != "text/html" || e.LastMod == "" ||
					len(e.Links) != 1 || e.Links[0].Rel != "memento" || !strings.HasSuffix(e.Links[0].Href, "id_/"+e.Loc) {
					t.Errorf("%+v", e)
				}
			}
			changes, _ := readList(t, discover(t, address, "changelist"), most)
			if len(live) != 11 || len(changes) != 12 {
				t.Errorf("%d live pages and %d changes: want 11 and 12", len(live), len(changes))
			}
			for _, e := range changes {
				want := map[string]string{crawled.URL(0, 1): "updated", crawled.URL(1, 2): "deleted"}[e.Loc]
				if want == "" {
					want = "created"
				}
				if at, err := time.Parse(time.RFC3339Nano, e.Meta.DateTime); e.Meta.Change != want || err != nil || at.IsZero() {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

// TestChangesByTime holds that a change list is in the order of time.
func TestChangesByTime(t *testing.T) {
	w := crawled.New(t, 3, 5)
	changes, _ := readList(t, synchronised(t, w, 100)+"/resourcesync/changes.xml", 100)
	var last time.Time
	for _, e := range changes {
		at, err := time.Parse(time.RFC3339Nano, e.Meta.DateTime)
		if err != nil || at.Before(last) {
			t.Errorf("%s after %v: %v", e.Meta.DateTime, last, err)
		}
		last = at
	}
}

// TestChangesLeadToResources lets pages change at random. A resource list, with the changes behind its link "monitor",
// gives the later resource list. The later list has the live pages of the page table.
func TestChangesLeadToResources(t *testing.T) {
	const sites, pages, most = 3, 4, 5
	w := crawled.New(t, sites, pages)
	address := synchronised(t, w, most)
	rng := rand.New(rand.NewPCG(1, 2))
	entries, monitor := readList(t, address+"/resourcesync/resources.xml", most)
	held := map[string]string{}
	for _, e := range entries {
		held[e.Loc] = e.Meta.Hash
	}
	for round := range 15 {
		for range rng.IntN(5) {
			at, text := crawled.URL(rng.IntN(sites), rng.IntN(pages)), ""
			if rng.IntN(3) > 0 {
				text = fmt.Sprintf("text %d", rng.IntN(1000))
			}
			w.Set(at, text)
			w.Visit(at)
			w.Visit(at)
		}
		if entries, monitor = readList(t, monitor, most); monitor == "" {
			t.Fatal("no changes after these")
		}
		for _, e := range entries {
			if held[e.Loc] = e.Meta.Hash; e.Meta.Change == "deleted" {
				delete(held, e.Loc)
			}
		}
		listed := map[string]string{}
		later, _ := readList(t, address+"/resourcesync/resources.xml", most)
		for _, e := range later {
			listed[e.Loc] = e.Meta.Hash
		}
		if live := livePages(t, w.Store()); !maps.Equal(held, listed) || !maps.Equal(listed, live) {
			t.Fatalf("round %d: by changes %v\nlisted %v\nlive %v", round, held, listed, live)
		}
	}
}

// TestIndexStaysShort changes pages repeatedly. The index does not grow with the changes, though the server remembers
// its parts.
func TestIndexStaysShort(t *testing.T) {
	const pages, most = 4, 2
	w := crawled.New(t, 1, pages)
	address := synchronised(t, w, most)
	longest := 0
	for change := range 40 {
		at := crawled.URL(0, change%pages)
		w.Set(at, fmt.Sprintf("text %d", change))
		w.Visit(at)
		index := readSitemap(t, address+"/resourcesync/changes.xml")
		longest = max(longest, len(index.Lists))
		if entries, _ := readList(t, address+"/resourcesync/changes.xml", most); len(entries) != pages {
			t.Fatalf("after %d changes %d entries: want %d", change+1, len(entries), pages)
		}
	}
	if longest < pages/most || longest > 2*pages/most+2 {
		t.Errorf("up to %d parts for %d pages", longest, pages)
	}
}

// livePages returns the live pages of the page table and the hashes of their bodies.
func livePages(t *testing.T, s *store.Store) map[string]string {
	live := map[string]string{}
	for p := range s.Partitions() {
		for page, err := range s.Pages(weburl.Partition(p)) {
			if err != nil {
				t.Fatal(err)
			}
			if page.State == store.StateLive {
				live[page.URL.String()] = "sha-1:" + hex.EncodeToString(page.BodyDigest[:])
			}
		}
	}
	return live
}

// TestRefusedLists holds the answers to requests for lists that do not exist.
func TestRefusedLists(t *testing.T) {
	w := crawled.New(t, 1, 4)
	address := synchronised(t, w, 2)
	none, ahead := feed.Cursor{0, 0, 0, 0}.String(), feed.Cursor{1 << 40, 1 << 40, 1 << 40, 1 << 40}.String()
	now, err := feed.NewReader(w.Store(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	all := now.Cursor().String()
	for name, test := range map[string]struct {
		path string
		code int
	}{
		"no cursor":         {"changes.xml?since=x!", http.StatusBadRequest},
		"ahead of the log":  {"changes.xml?since=" + ahead, http.StatusGone},
		"a part ahead":      {"changes/" + none + "/" + ahead, http.StatusGone},
		"a part backwards":  {"changes/" + all + "/" + none, http.StatusGone},
		"a part of garbage": {"changes/x/y", http.StatusBadRequest},
		"too much at once":  {"changes/" + none + "/" + all, http.StatusBadRequest},
		"of no time":        {"resources/" + none + "/" + none, http.StatusBadRequest},
		"nothing":           {"changes/" + none + "/" + none, http.StatusOK},
	} {
		response, err := http.Get(address + "/resourcesync/" + test.path)
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != test.code {
			t.Errorf("%s: %s: want %d", name, response.Status, test.code)
		}
	}
}
