package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/internal/storetest"
	"freshet/weburl"
)

// TestPagesFrom holds that the pages from each one on are the rest of all.
func TestPagesFrom(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	p := weburl.Site("http://site.test").Partition(storetest.Partitions)
	var pages []store.NewPage
	for i := range 20 {
		pages = append(pages, store.NewPage{URL: storetest.Parse(t, fmt.Sprintf("http://site.test/%d", i))})
	}
	if _, err := s.Apply(&store.Discovered{Partition: p, New: pages}); err != nil {
		t.Fatal(err)
	}
	fingerprints := func(from weburl.Fingerprint) (found []weburl.Fingerprint) {
		for page, err := range s.PagesFrom(p, from) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, page.Fingerprint)
		}
		return found
	}
	all := fingerprints(0)
	if len(all) != len(pages) || !slices.IsSorted(all) {
		t.Fatalf("%d pages, sorted %v: want all %d in order", len(all), slices.IsSorted(all), len(pages))
	}
	for i, from := range all {
		if got := fingerprints(from); !slices.Equal(got, all[i:]) {
			t.Errorf("from page %d: %d pages, want %d", i, len(got), len(all)-i)
		}
		if got := fingerprints(from + 1); !slices.Equal(got, all[i+1:]) {
			t.Errorf("after page %d: %d pages, want %d", i, len(got), len(all)-i-1)
		}
	}
}

// TestVisitsFrom holds that the pages from each one on come with their own visits.
func TestVisitsFrom(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	p := weburl.Site("http://site.test").Partition(storetest.Partitions)
	for i := range 20 {
		u := storetest.Parse(t, fmt.Sprintf("http://site.test/%d", i))
		if _, err := s.Apply(&store.Discovered{Partition: p, New: []store.NewPage{{URL: u}}}); err != nil {
			t.Fatal(err)
		}
		for n := range i % 4 {
			if _, err := s.CommitPages([]store.Fetch{storetest.Status(u, 1+n, 200)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var want []store.PageVisits
	for page, err := range s.PagesFrom(p, 0) {
		if err != nil {
			t.Fatal(err)
		}
		visits, err := s.Visits(p, page.Fingerprint)
		if err != nil || len(visits) != int(page.Visits) {
			t.Fatalf("%s has %d visits, %v, want %d", page.URL, len(visits), err, page.Visits)
		}
		want = append(want, store.PageVisits{PageAt: page, Kept: visits})
	}
	for i := range want {
		var got []store.PageVisits
		for page, err := range s.VisitsFrom(p, want[i].Fingerprint) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page)
		}
		if !reflect.DeepEqual(got, want[i:]) {
			t.Errorf("from page %d: %v, want %v", i, got, want[i:])
		}
	}
}

// TestSitesOf holds that the sites of a host are those of its name, and of no host whose name only begins like it.
func TestSitesOf(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	ours := []string{
		"http://site.test", "http://site.test.", "http://site.test.:81", "http://site.test:8080", "http://site.test:81",
		"https://site.test", "https://site.test:8443",
	}
	others := []string{"http://www.site.test", "http://asite.test"}
	for _, name := range slices.Concat(ours, others, []string{"http://site.tes", "http://site.test-a", "http://site.test.a"}) {
		u := storetest.Parse(t, name+"/")
		if _, err := s.Apply(&store.Discovered{Partition: s.Home(u.Site()), New: []store.NewPage{{URL: u}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{ours[0], ours[1], ours[6]} {
		var found []string
		for row, err := range s.SitesOf(weburl.Site(name)) {
			if err != nil || row.Pages != 1 {
				t.Fatalf("%s: %d pages, %v", row.Site, row.Pages, err)
			}
			found = append(found, string(row.Site))
		}
		if !slices.Equal(found, ours) {
			t.Errorf("sites of %s: %q, want %q", name, found, ours)
		}
	}
	for row, err := range s.SitesOf("http://none.test") {
		t.Errorf("a host without sites has %s, %v", row.Site, err)
	}
}
