package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"go.uber.org/goleak"

	"freshet/clock"
	"freshet/weburl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2030, 5, 1, 0, 0, 0, 0, time.UTC)

// web returns a small web without latency. Its clock practically stands at elapsed.
func web(t testing.TB, elapsed time.Duration, change func(*Config)) *Web {
	t.Helper()
	c := Config{
		Seed: 7, Pages: 1200, Start: start, Bytes: 4000, Latency: -1, Bandwidth: -1,
		Clock: clock.New(start.Add(elapsed), 1e-15),
	}
	if change != nil {
		change(&c)
	}
	w, err := NewWeb(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// get asks a web without a network. The headers alternate between names and values.
func get(t testing.TB, w *Web, url string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, url, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec.Result()
}

func body(t testing.TB, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	anchor = regexp.MustCompile(`<a href="([^"]*)">`)
	tags   = regexp.MustCompile(`<[^>]*>`)
)

// TestGolden pins the web: if these numbers change, everybody's webs change.
func TestGolden(t *testing.T) {
	w := web(t, 0, nil)
	sizes := []int{}
	for _, s := range w.sites {
		sizes = append(sizes, s.pages)
	}
	if diff := cmp.Diff([]int{369, 210, 153, 123, 103, 90, 80, 72}, sizes); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
	digest := fnv.New64a()
	for _, elapsed := range []time.Duration{0, 3 * day, 40 * day} {
		for u := range w.All(start.Add(elapsed)) {
			fmt.Fprintln(digest, u, w.Changed(u, start.Add(elapsed)))
		}
	}
	for _, s := range w.sites {
		digest.Write(s.appendPage(nil, 1, s.state(1, 5*day), 5*day))
	}
	if got, want := digest.Sum64(), uint64(0xd73244c294c49bc9); got != want {
		t.Errorf("digest of the web: %#x, want %#x", got, want)
	}
	for elapsed, want := range map[time.Duration]int{0: 1149, 30 * day: 1144, 70 * day: 1137} {
		if got := len(w.Reachable(start.Add(elapsed))); got != want {
			t.Errorf("reachable after %v: %d pages, want %d", elapsed, got, want)
		}
	}
}

func TestSameSeedSameWeb(t *testing.T) {
	a, b := web(t, 5*day, nil), web(t, 5*day, nil)
	other := web(t, 5*day, func(c *Config) { c.Seed++ })
	differ := false
	for u := range a.All(start.Add(5 * day)) {
		mine := body(t, get(t, a, u.String()))
		if mine != body(t, get(t, b, u.String())) {
			t.Fatalf("%v differs between two webs of one seed", u)
		}
		differ = differ || mine != body(t, get(t, other, u.String()))
	}
	if !differ {
		t.Error("another seed makes the same web")
	}
}

// TestReachable crawls the served pages by their anchors. It finds the pages of Reachable, and no page more.
func TestReachable(t *testing.T) {
	const elapsed = 20 * day
	w := web(t, elapsed, nil)
	want := w.Reachable(start.Add(elapsed))

	var found []weburl.URL
	met := map[weburl.URL]bool{}
	queue := w.Homes()
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if met[u] || strings.HasPrefix(u.Path(), "/private/") {
			continue
		}
		met[u] = true
		r := get(t, w, u.String())
		html := body(t, r)
		if location := r.Header.Get("Location"); location != "" {
			html = fmt.Sprintf(`<a href="%s">`, location)
		} else if r.StatusCode != http.StatusOK {
			continue
		} else {
			found = append(found, u)
		}
		if strings.Contains(html, `content="nofollow"`) {
			continue
		}
		for _, m := range anchor.FindAllStringSubmatch(html, -1) {
			next, err := u.Parse(m[1])
			if err != nil {
				t.Fatal(err)
			}
			queue = append(queue, next)
		}
	}
	byText := func(a, b weburl.URL) int { return strings.Compare(a.String(), b.String()) }
	slices.SortFunc(found, byText)
	slices.SortFunc(want, byText)
	if diff := cmp.Diff(want, found, cmp.AllowUnexported(weburl.URL{})); diff != "" {
		t.Errorf("pages (-Reachable +crawled):\n%s", diff)
	}
}

// TestVersionsAreVisible holds that the text of a page changes exactly when its version does, and that the ETag shows
// it.
func TestVersionsAreVisible(t *testing.T) {
	versions, noisy := 0, 0
	for _, s := range web(t, 0, nil).sites {
		seen := map[string]int{} // by URL: version
		texts, bodies, etags := map[string]string{}, map[string]string{}, map[string]string{}
		for step := range 12 {
			elapsed := time.Duration(step) * 5 * time.Hour
			w := web(t, elapsed, nil)
			for page := range min(s.pages, 40) {
				u := s.url(s.path(page))
				version, exists := w.Truth(u, start.Add(elapsed))
				r := get(t, w, u.String())
				if exists != (r.StatusCode == http.StatusOK) {
					t.Fatalf("%v after %v: exists %v, status %d", u, elapsed, exists, r.StatusCode)
				}
				if !exists {
					continue
				}
				html, key := body(t, r), u.String()
				text := tags.ReplaceAllString(html, " ")
				if before, ok := seen[key]; ok {
					versions += version - before
					if (text == texts[key]) != (version == before) {
						t.Fatalf("%v after %v: version %d → %d, text changed: %v", u, elapsed, before, version, text != texts[key])
					}
					if html != bodies[key] && text == texts[key] {
						if !s.traits(page).noise {
							t.Fatalf("%v has noise", u)
						}
						noisy++
					}
					if etag := r.Header.Get("ETag"); !s.lying && etag != "" && (etag == etags[key]) != (version == before) {
						t.Fatalf("%v: ETag %s → %s, version %d → %d", u, etags[key], etag, before, version)
					}
				}
				seen[key], texts[key], bodies[key], etags[key] = version, text, html, r.Header.Get("ETag")
			}
		}
	}
	if versions < 500 || noisy < 30 {
		t.Errorf("%d versions and %d noisy repeats seen: too few to tell", versions, noisy)
	}
}

func TestFreshAndChanged(t *testing.T) {
	w := web(t, 0, nil)
	checked := 0
	for u := range w.All(start) {
		p, ok := w.Process(u)
		if !ok {
			t.Fatalf("%v has no process", u)
		}
		change := start.Add(p.Phase)
		s, page, _ := w.find(u)
		if _, exists := w.Truth(u, change); p.Kind != Periodic || !s.leaf(page) || !exists {
			continue
		}
		checked++
		if !w.Fresh(u, start, change.Add(-1)) || w.Fresh(u, start, change) || !w.Fresh(u, change, change) {
			t.Errorf("%v: a copy of the start is not fresh just until %v", u, p.Phase)
		}
		if got := w.Changed(u, change); got != change {
			t.Errorf("Changed(%v) = %v, want %v", u, got, change)
		}
	}
	if checked < 50 {
		t.Errorf("%d periodic pages", checked)
	}
	for _, raw := range []string{"http://alder.test/gone/1", "http://nowhere.test/", "http://alder.test/?q", "http://alder.test/style.css"} {
		u, err := weburl.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if version, exists := w.Truth(u, start); exists || version != 0 {
			t.Errorf("Truth(%v) = %d, %v", u, version, exists)
		}
	}
}

// TestRates adds up the changes of many pages. Their number matches the rates within four standard errors. Each process
// gives its own error (Poisson: the mean; Quasi: p(1-p) a moment).
func TestRates(t *testing.T) {
	const elapsed = 100 * day
	type sum struct{ got, want, variance float64 }
	sums := map[ProcessKind]*sum{Never: {}, Poisson: {}, Periodic: {}, Quasi: {}}
	for n := range 4000 {
		p := NewProcess(mix(1, uint64(n)))
		changes, last := p.Changes(elapsed)
		if last > elapsed || (changes > 0) != (last > 0) {
			t.Fatalf("%+v: %d changes, the last after %v", p, changes, last)
		}
		s := sums[p.Kind]
		s.got += float64(changes)
		s.want += p.Rate * float64(elapsed) / float64(day)
		switch p.Kind {
		case Poisson:
			s.variance += p.Rate * float64(elapsed) / float64(day)
		case Periodic: // at a random phase: at most one more or less
			s.variance += 0.25
		case Quasi:
			s.variance += p.Rate*float64(elapsed)/float64(day)*(1-p.Probability) + 0.25
		}
	}
	for kind, s := range sums {
		if math.Abs(s.got-s.want) > 4*math.Sqrt(s.variance) {
			t.Errorf("%v: %v changes, want %.0f ± %.0f", kind, s.got, s.want, 4*math.Sqrt(s.variance))
		}
		if kind != Never && s.got == 0 {
			t.Errorf("no %v page", kind)
		}
	}
}

// TestChangesGrow holds that a process does not depend on when it is asked. Its count of changes never falls, and it
// rises exactly when the last change is later.
func TestChangesGrow(t *testing.T) {
	for n := range 200 {
		p := NewProcess(mix(2, uint64(n)))
		before, lastBefore := 0, time.Duration(0)
		for elapsed := -day; elapsed < 20*day; elapsed += 7 * time.Hour {
			changes, last := p.Changes(elapsed)
			if changes < before || last < lastBefore || (changes == before) != (last == lastBefore) {
				t.Fatalf("%+v: after %v %d changes, last %v; before %d, %v", p, elapsed, changes, last, before, lastBefore)
			}
			before, lastBefore = changes, last
		}
	}
}

func TestConditional(t *testing.T) {
	w := web(t, 3*day, nil)
	later := web(t, 30*day, nil)
	for _, s := range w.sites {
		page := 1 // has children, hence no noise, and lives for ever
		for w.sites[s.number].process(page).Kind == Never {
			page++
		}
		url := s.url(s.path(page)).String()
		first := get(t, w, url)
		tag, modified := first.Header.Get("ETag"), first.Header.Get("Last-Modified")
		again := get(t, w, url, "If-None-Match", tag, "If-Modified-Since", modified)
		since := get(t, w, url, "If-Modified-Since", modified)
		changed := get(t, later, url, "If-None-Match", tag, "If-Modified-Since", modified)
		want := [...]int{304, 304, 200}
		switch {
		case s.blank:
			want = [...]int{200, 200, 200}
			if tag != "" || modified != "" {
				t.Errorf("%s sends validators %q, %q", s.host, tag, modified)
			}
		case s.lying:
			want = [...]int{304, 304, 200} // at the very same time; see below
			if other := get(t, later, s.url("/style.css").String()).Header.Get("ETag"); other == get(t, w, s.url("/style.css").String()).Header.Get("ETag") {
				t.Errorf("%s does not lie about its style sheet", s.host)
			}
		}
		if got := [...]int{again.StatusCode, since.StatusCode, changed.StatusCode}; got != want && s.process(page).Rate > 0.5 {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
		if again.StatusCode == http.StatusNotModified && body(t, again) != "" {
			t.Errorf("%s: a 304 with a body", url)
		}
	}
}

// TestHabits holds that eight sites together have each habit once.
func TestHabits(t *testing.T) {
	w := web(t, day, nil)
	status := func(host, path string) int { return get(t, w, "http://"+host+path).StatusCode }
	text := func(host, path string) string { return body(t, get(t, w, "http://"+host+path)) }

	if got := text("birch.test", "/robots.txt"); !strings.Contains(got, "Disallow: /private/\nCrawl-delay: 0.05\n") {
		t.Errorf("birch: robots.txt %q", got)
	}
	if got := status("elm.test", "/robots.txt"); got != 404 {
		t.Errorf("elm: robots.txt %d, want 404", got)
	}
	if got, want := strings.Count(text("alder.test", "/sitemap.xml"), "<lastmod>2030-05-0"), 300; got < want {
		t.Errorf("alder: %d entries in the sitemap, want more than %d", got, want)
	}
	if got := text("cedar.test", "/sitemap.xml"); !strings.Contains(got, "<sitemapindex") || !strings.Contains(got, "http://cedar.test/sitemap-0.xml.gz") {
		t.Errorf("cedar: sitemap %q", got)
	}
	z, err := gzip.NewReader(strings.NewReader(text("cedar.test", "/sitemap-0.xml.gz")))
	if err != nil {
		t.Fatal(err)
	}
	if part, err := io.ReadAll(z); err != nil || !bytes.Contains(part, []byte("<urlset")) {
		t.Errorf("cedar: part of the sitemap: %v, %.100q", err, part)
	}
	if got := strings.Count(text("alder.test", "/feed.xml"), "<item>"); got != feedEntries {
		t.Errorf("alder: %d entries in the feed, want %d", got, feedEntries)
	}
	if got := status("birch.test", "/feed.xml"); got != 404 {
		t.Errorf("birch: feed %d, want 404", got)
	}
	plain := text("cedar.test", "/")
	r := get(t, w, "http://cedar.test/", "Accept-Encoding", "br, gzip")
	if z, err = gzip.NewReader(r.Body); err != nil || r.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("cedar: %v, encoding %q", err, r.Header.Get("Content-Encoding"))
	}
	if unpacked, err := io.ReadAll(z); err != nil || string(unpacked) != plain {
		t.Errorf("cedar: compressed home differs: %v", err)
	}
	for path, want := range map[string]int{
		"/moved/3": 301, "/go/3": 302, "/gone/3": 404, "/error/3": 500, "/moved/03": 404, "/moved/99999": 404,
		"/pictures/5.svg": 200, "/logo.svg": 200, "/style.css": 200, "/?x=1": 404, "/nothing": 404,
	} {
		if got := status("alder.test", path); got != want {
			t.Errorf("alder%s: %d, want %d", path, got, want)
		}
	}
	if got := status("nowhere.test", "/"); got != http.StatusMisdirectedRequest {
		t.Errorf("unknown host: %d, want 421", got)
	}
}

func TestConfig(t *testing.T) {
	want := Config{Seed: 3, Sites: 9, Pages: 100, Start: start, Bytes: 10, Latency: time.Second, Bandwidth: 1}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Config
	if err := json.Unmarshal(data, &got); err != nil || got.Seed != 3 || got.Start != start || got.Latency != time.Second {
		t.Errorf("Config as JSON: %s → %+v, %v", data, got, err)
	}
	for _, c := range []struct {
		name   string
		config Config
		fault  string
	}{
		{"no site", Config{Sites: -1}, "-1 sites"},
		{"too few pages", Config{Sites: 8, Pages: 39}, "39 pages on 8 sites"},
		{"too large pages", Config{Bytes: 1 << 30}, "1073741824 bytes"},
	} {
		if _, err := NewWeb(c.config); err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v, want it to mention %q", c.name, err, c.fault)
		}
	}
}

// TestServe asks a web over the network. Every host has its own address. OnRequest hears of every request, with its end
// after its start. A closed server does not answer.
func TestServe(t *testing.T) {
	var mu sync.Mutex
	heard := map[string]int{}
	w := web(t, 0, func(c *Config) {
		c.Clock, c.Latency, c.Bandwidth = clock.New(start, 1000), 0, 0
		c.OnRequest = func(host string, start, end time.Time) {
			mu.Lock()
			defer mu.Unlock()
			heard[host]++
			if !end.After(start) {
				t.Errorf("%s: answered at %v, before it was asked at %v", host, end, start)
			}
		}
	})
	srv, err := w.Serve(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	resolve := srv.Resolve()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	ask := func(host string) (*http.Response, error) {
		r, err := http.NewRequest(http.MethodGet, "http://"+resolve[host].String()+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		return client.Do(r)
	}
	for _, host := range w.Hosts() {
		r, err := ask(host)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := r.ContentLength < 0, w.byHost[host].chunked; got != want {
			t.Errorf("%s: chunked %v, want %v", host, got, want)
		}
		if date, err := http.ParseTime(r.Header.Get("Date")); err != nil || date.Year() != 2030 {
			t.Errorf("%s: Date %q, %v", host, r.Header.Get("Date"), err)
		}
		if html := body(t, r); !strings.HasSuffix(html, "</html>\n") {
			t.Errorf("%s: home ends in %.20q", host, html[max(0, len(html)-20):])
		}
		r.Body.Close()
	}
	srv.Close()
	mu.Lock()
	defer mu.Unlock()
	for _, host := range w.Hosts() {
		if heard[host] != 1 {
			t.Errorf("%s: OnRequest heard of %d requests, want 1", host, heard[host])
		}
	}
	if _, err := ask("alder.test"); err == nil {
		t.Error("a closed server answers")
	}
}

// TestServeEndsWithContext ends the context during a request. The request fails, and is over when Close returns.
func TestServeEndsWithContext(t *testing.T) {
	over := false
	w := web(t, 0, func(c *Config) {
		c.Clock = clock.New(start, 0.001)
		c.Latency = time.Hour
		c.OnRequest = func(string, time.Time, time.Time) { over = true }
	})
	ctx, cancel := context.WithCancel(context.Background())
	srv, err := w.Serve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	arrived := func(ctx context.Context) context.Context {
		return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			WroteRequest: func(httptrace.WroteRequestInfo) { cancel() },
		})
	}
	r, err := http.NewRequestWithContext(arrived(context.Background()), http.MethodGet, "http://"+srv.Resolve()["alder.test"].String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "alder.test"
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if _, err := client.Do(r); err == nil {
		t.Error("a request was answered after the context ended")
	}
	srv.Close()
	_ = over // written before Close returned: the race detector would object
}

func BenchmarkPage(b *testing.B) {
	w := web(b, 10*day, func(c *Config) { c.Pages, c.Bytes = 20_000, 16_000 })
	s := w.sites[0]
	var buf []byte
	bytes, page := 0, 0
	for b.Loop() {
		page = (page + 1) % s.pages
		buf = s.appendPage(buf[:0], page, s.state(page, 10*day), 10*day)
		bytes += len(buf)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
	b.ReportMetric(float64(bytes)/float64(b.N), "bytes/page")
}
