package crawl

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"freshet/weburl"
)

func mustAddress(weburl.URL) netip.Addr { return netip.MustParseAddr("192.0.2.1") }

// TestDiscovers holds that a crawl finds every page of a site once, and ends.
func TestDiscovers(t *testing.T) {
	w := newWorld(t)
	w.settings.Seeds = []weburl.URL{parse(t, "http://a.test/")}
	w.web["http://a.test/"] = &page{status: 200, links: []string{"http://a.test/1", "http://a.test/2", "http://b.test/"}}
	w.web["http://a.test/1"] = &page{status: 200, links: []string{"http://a.test/2", "http://a.test/3"}}
	w.web["http://a.test/2"] = &page{status: 200, body: "two"}
	w.open()
	w.run(time.Hour)
	t.Log("\n" + strings.Join(w.lines, "\n"))
	t.Logf("%+v", w.shard.Status(w.now))
}
