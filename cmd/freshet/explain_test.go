package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"freshet/cmd/freshet/command"
	"freshet/crawl/explain"
)

// TestExplainWhileCrawling asks the running crawl, which alone knows that a page is being fetched.
func TestExplainWhileCrawling(t *testing.T) {
	site := newSlowSite(t)
	data := filepath.Join(t.TempDir(), "d")
	p := slowCrawl(t, site, data)
	explain := func() (e explain.Explanation) {
		t.Helper()
		out, _ := freshet(t, command.ExitDone, "explain", "--json", "--data", data, site.URL+"/")
		if err := json.Unmarshal([]byte(out), &e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := explain(); e.StoppedBy != "host" || e.Reason != "busy" {
		t.Errorf("while it is fetched: %+v", e)
	}
	site.release()
	if code := p.end(); code != command.ExitDone {
		t.Errorf("exit code %d", code)
	}
	if e := explain(); e.StoppedBy != "" {
		t.Errorf("when it is stored: %+v", e)
	}
}
