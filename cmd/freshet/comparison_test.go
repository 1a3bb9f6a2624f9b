package main

import (
	"slices"
	"testing"

	"freshet/weburl"
)

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
