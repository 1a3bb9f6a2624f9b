package weburl

import "testing"

// TestRelNeverChanges holds the numbers, which are kept on disk.
func TestRelNeverChanges(t *testing.T) {
	want := []string{"none", "seed", "anchor", "redirect", "embed", "frame", "canonical", "sitemap", "feed",
		"alternate", "refresh", "header", "link", "form"}
	for i, name := range want {
		if rel := Rel(i); rel.String() != name || !rel.Valid() {
			t.Errorf("relation %d is %q, valid %v; want %q", i, rel, rel.Valid(), name)
		}
	}
	if rel := Rel(len(want)); rel.Valid() || rel.String() != "rel(14)" {
		t.Errorf("relation %d is %q, valid %v", len(want), rel, rel.Valid())
	}
}
