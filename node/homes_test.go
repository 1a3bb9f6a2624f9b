package node

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"freshet/crawl"
	"freshet/weburl"
)

// TestAnotherSuffixList stops a crawl again and again, and each time another list of public suffixes has come. It comes
// to the same pages, asks for none twice, and the directory verifies.
func TestAnotherSuffixList(t *testing.T) {
	web := newTestWeb(t, 3, 60)
	o := web.options(t, vfs.NewMem(), "data")
	o.MaxPages = 17
	lists := []weburl.Suffixes{weburl.PublicSuffixes(), {Version: "one owner", Domain: func(weburl.Site) string { return "test" }},
		{Version: "others", Domain: func(s weburl.Site) string { return "of." + strings.Repeat("x", len(s)) + s.Name() }}}
	for i, stop := 0, crawl.MaxPages; stop == crawl.MaxPages; i++ {
		o.Suffixes = lists[i%len(lists)]
		stop = run(t, o).StoppedBy
		verify(t, o)
		if i > 50 {
			t.Fatal("no end after 50 runs")
		}
	}
	if diff := cmp.Diff(web.want(), stored(t, o)); diff != "" {
		t.Errorf("stored pages (-want +got):\n%s", diff)
	}
	for url, n := range web.requests {
		if n != 1 {
			t.Errorf("%s was asked for %d times", url, n)
		}
	}
}
