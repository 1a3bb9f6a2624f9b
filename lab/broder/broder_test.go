package broder

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"freshet/lab"
	"freshet/lab/webs"
	recorded "freshet/seen/trace"
	"freshet/sim/discovery"
	"freshet/sim/graph"
	"freshet/weburl"
)

func runTrial(t *testing.T, arguments ...string) (*lab.Result, error) {
	t.Helper()
	trial := Experiment(webs.Source{}).New()
	if err := trial.Flags().Parse(arguments); err != nil {
		t.Fatal(err)
	}
	return trial.Run(t.Context(), nil)
}

// smallWeb has some 15,000 pages.
func smallWeb(t *testing.T) *graph.Stored {
	t.Helper()
	web, _, err := graph.Generate(t.Context(), graph.Recipe{Seed: 1, Sites: 250, HomeShare: 0.6})
	if err != nil {
		t.Fatal(err)
	}
	return web
}

// The bounds hold on every trace, and the same parameters give the same result.
func TestWeb(t *testing.T) {
	web := smallWeb(t)
	p := parameters{policies: withoutInfinite(), orders: []string{"fifo", "depth"}, from: 6, to: 17, processes: 4, seed: 1}
	var results [2]lab.Result
	for i := range results {
		if err := p.crawls(t.Context(), &results[i], web); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range results[0].Claims {
		for _, always := range []string{"no policy but STATIC misses less than MIN", "all policies are INFINITE once all URLs fit", "a cache split by fingerprint misses as often"} {
			if strings.Contains(c.Claim, always) && c.Verdict != lab.Confirmed {
				t.Errorf("%s: %s: %s", c.Claim, c.Verdict, c.Evidence)
			}
		}
	}
	crossing := map[string]float64{}
	for _, row := range results[0].Rows {
		if share, ok := row.Get("share_crossing").(float64); ok {
			crossing[row.Get("trace").(string)] = share
			if sent := row.Get("share_sent_with_cache").(float64); sent > share {
				t.Errorf("%v: %.3f of the links cross, %.3f are sent", row.Get("trace"), share, sent)
			}
		}
	}
	// Of links to pages three quarters lead to another of four owners when URLs are scattered.
	if byURL, byHost := crossing["owner by url"], crossing["owner by host"]; byURL < 0.65 || byURL > 0.8 || byHost > byURL/1.5 {
		t.Errorf("%.3f of the links cross by URL, %.3f by host", byURL, byHost)
	}
	one, err1 := json.Marshal(results[0])
	two, err2 := json.Marshal(results[1])
	if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
		t.Errorf("the same parameters give another result (%v, %v)", err1, err2)
	}
}

func TestRecorded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "small")
	w, err := recorded.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range "123412512345" {
		u, err := weburl.Parse("http://a.test/" + string(n))
		if err != nil {
			t.Fatal(err)
		}
		w.Add(u)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	result, err := runTrial(t, "--trace="+file, "--from=0", "--to=3")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"lru": 8.0 / 12, "clock": 8.0 / 12, "min": 6.0 / 12}
	for _, row := range result.Rows {
		policy, _ := row.Get("policy").(string)
		if rate, ok := want[policy]; ok && row.Get("size") == 4 && row.Get("miss_rate") != rate {
			t.Errorf("%s of 4: miss rate %v, want %v", policy, row.Get("miss_rate"), rate)
		}
	}
	if _, err := runTrial(t, "--trace="+filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent trace: %v", err)
	}
}

func TestParameters(t *testing.T) {
	for _, argument := range []string{"--web=web-1", "--policy=fifo", "--order=width", "--from=-1", "--to=3", "--to=40", "--processes=-1", "--requests=-1"} {
		_, err := runTrial(t, argument)
		if _, wrong := errors.AsType[*lab.ParameterError](err); !wrong {
			t.Errorf("%s: error %v", argument, err)
		}
	}
}

// A page's links are the same every time, hold all the web's, and have about as many repeats and resources
// as they should.
func TestAppendLinks(t *testing.T) {
	web := smallWeb(t)
	c := &crawled{web: web, seed: 1, processes: 4}
	all, unique, resources := 0, 0, 0
	var targets []uint32
	for page := range uint32(web.Pages()) {
		targets = web.AppendLinks(targets[:0], page)
		links := c.appendLinks(nil, page, web.SiteOf(page), targets)
		if !slices.Equal(links, c.appendLinks(nil, page, web.SiteOf(page), targets)) {
			t.Fatalf("page %d has other links the second time", page)
		}
		seen := map[weburl.Fingerprint]bool{}
		for _, l := range links {
			if !seen[l.fp] && l.resource {
				resources++
			}
			seen[l.fp] = true
		}
		for _, target := range targets {
			if !seen[name(kindPage, 0, target)] {
				t.Fatalf("page %d lacks its link to %d", page, target)
			}
		}
		all, unique = all+len(links), unique+len(seen)
	}
	if share := 1 - float64(unique)/float64(all); share < 0.29 || share > 0.36 {
		t.Errorf("%.3f of the links are repeats, want about 0.3", share)
	}
	if share := float64(resources) / float64(unique); share < 0.10 || share > 0.17 {
		t.Errorf("%.3f of the URLs are resources, want about 0.15", share)
	}
}

// Threads are handed out last idle first, by hand.
func TestAssign(t *testing.T) {
	fetches := []discovery.Fetch{ // by end
		{Start: 0, End: 2}, {Start: 1, End: 3}, {Start: 0, End: 4}, {Start: 3, End: 5}, {Start: 4, End: 6}, {Start: 5, End: 7},
	}
	// At 0: threads 0 and 1; at 1: 2. Idle at 3: 0, then 2: 2 goes. At 4: 1 has come, goes. At 5: 2.
	if got, want := assign(fetches), []uint16{0, 2, 1, 2, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("threads %v, want %v", got, want)
	}
}
