package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/dashboard"
	"freshet/importer"
	"freshet/store"
	"freshet/weburl"
)

// TestComparedByText compares the pages of three sites. Of a text of 300 words, the second has a tail of 15 other words
// and the third one of 42. Their Jaccard similarities with the first are 0.90 and 0.75.
func TestComparedByText(t *testing.T) {
	s, err := store.Open("data", store.Options{FS: vfs.NewMem(), Crawl: "main", Partitions: 5})
	if err != nil {
		t.Fatal(err)
	}
	in := importer.New(s)
	for i, others := range []int{0, 15, 42} {
		var text strings.Builder
		for word := range 300 {
			if word >= 300-others {
				word += 1000 * i
			}
			fmt.Fprintf(&text, "w%d ", word)
		}
		record := captureOf(time.Unix(1.8e9, 0), fmt.Sprintf("http://site%d.test/", i), "200 OK", "Content-Type: text/html\r\n", "<p>"+text.String())
		if err := in.WARC(strings.NewReader(record), "test.warc"); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Flush(); err != nil {
		t.Fatal(err)
	}
	c := newCorpus(newReader(s), clock.Real(), nil)
	var groups []dashboard.Duplicates
	for group, err := range c.Duplicates(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, group)
	}
	if len(groups) != 1 || !slices.Equal(groups[0].URLs, []string{"http://site0.test/", "http://site1.test/"}) || groups[0].Exact {
		t.Errorf("the duplicates are %+v", groups)
	}
	c.close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestComparison finds pages by their keys and their numbers, and groups in their order. Partitions may be empty.
func TestComparison(t *testing.T) {
	c := &comparison{begin: []int{0, 0, 3, 3, 5}, pages: []weburl.Fingerprint{2, 5, 9, 1, 5}, group: []int32{0, 1, 1, 0, 1}}
	homes := []weburl.Partition{1, 1, 1, 3, 3}
	for page, fp := range c.pages {
		if found, ok := c.find(homes[page], fp); !ok || int(found) != page || c.home(int32(page)) != homes[page] {
			t.Errorf("page %d is found at %d, in partition %d", page, found, c.home(int32(page)))
		}
	}
	for p, fp := range []weburl.Fingerprint{5, 1, 2, 9} {
		if found, ok := c.find(weburl.Partition(p), fp); ok {
			t.Errorf("%d in partition %d is page %d: want none", fp, p, found)
		}
	}
	var groups [][]int32
	for members := range c.groups() {
		groups = append(groups, slices.Clone(members))
	}
	if len(groups) != 2 || !slices.Equal(groups[0], []int32{1, 2, 4}) || !slices.Equal(groups[1], []int32{0, 3}) {
		t.Errorf("the groups are %v", groups)
	}
}
