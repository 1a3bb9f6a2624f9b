package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"freshet/allocate"
	"freshet/clock"
	"freshet/dashboard"
	"freshet/index"
	"freshet/internal/crawled"
	"freshet/lab/replay"
	"freshet/refresh/policies"
	"freshet/weburl"
)

// TestClicksOfADaemon searches and clicks in a daemon that learns from it, once through the window's link, and
// restarts it. From then on the daemon shows the expected embarrassment. Searches that must not be noted are not.
func TestClicksOfADaemon(t *testing.T) {
	web := httptest.NewServer(smallWeb())
	t.Cleanup(web.Close)
	dir, address := t.TempDir(), freeAddress(t, "127.0.0.1")
	config := filepath.Join(dir, "freshet.yaml")
	put(t, filepath.Join(dir, "seeds.txt"), "http://site.test/\n")
	put(t, config, fmt.Sprintf("data: %s\nseeds: %s\nresolve: site.test=%s\nallow-private: true\ndelay: 0s\nlisten: %s\ncontact: mailto:a@b.test\n"+
		"index: true\nrefresh: true\nbudget: 100\ninterval: 1s\nweights: clicks\n",
		filepath.Join(dir, "data"), filepath.Join(dir, "seeds.txt"), strings.TrimPrefix(web.URL, "http://"), address))
	daemon := start(t, "serve", "--config", config)
	daemon.awaitLine("no search is logged yet")
	awaitPages(t, config, 3)
	var hit dashboard.Hit
	await(t, "a page is found", func() bool {
		return json.Unmarshal([]byte(getText(t, "http://"+address+"/api/v1/search?q=home")), &hit) == nil && hit.Query != ""
	})
	click := "/click?" + url.Values{"query": {hit.Query}, "url": {hit.URL}}.Encode()
	if page := getText(t, "http://"+address+click); !strings.Contains(page, "<h2>Versions</h2>") {
		t.Errorf("the click does not lead to the page's view:\n%s", page)
	}
	freshet(t, 0, "search", "--config", config, "home")
	embarrassed := func() bool {
		return strings.Contains(getText(t, "http://"+address+"/api/v1/status"), `"embarrassment":{"expected_per_day":`)
	}
	await(t, "embarrassment is expected", embarrassed)
	daemon.signal(syscall.SIGTERM, "finishing")
	daemon.end()
	daemon = start(t, "serve", "--config", config)
	daemon.awaitLine("serving")
	await(t, "it is expected again", embarrassed)
	daemon.signal(syscall.SIGTERM, "finishing")
	daemon.end()
	days, err := filepath.Glob(filepath.Join(dir, "data", "queries", "main", "*.csv"))
	if err != nil || len(days) == 0 {
		t.Fatalf("%q, %v", days, err)
	}
	out, said := freshet(t, 0, "weights", "--log", days[0], "--json")
	if !strings.Contains(out+said, `{"queries":1,"pages":1,`) {
		t.Errorf("weights of the log: %s%s", out, said)
	}
}

// partly is a corpus that is too large to look at all of it.
type partly struct{ dashboard.Corpus }

// Search implements dashboard.Corpus.
func (partly) Search(context.Context, dashboard.Search) (dashboard.Found, error) {
	return dashboard.Found{Partial: true, Looked: 20_000, Most: 812_000}, nil
}

// TestPartialSearch holds that the search command says that its results are partial, and what to do, also if there is
// none.
func TestPartialSearch(t *testing.T) {
	data := t.TempDir()
	listener, err := listenSocket(filepath.Join(data, socketName))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: dashboard.Handler(dashboard.Options{Corpus: partly{}})}
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) }) // ends with Close
	out, said := freshet(t, 0, "search", "--data", data, "--json", `"on the"`)
	if want := "partial results: 20,000 of at most 812,000 pages with these words were looked at: add a word that few pages have, or --site\n"; out != "" || !strings.HasSuffix(said, want) {
		t.Errorf("it prints %q and says %q, want %q", out, said, want)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	running.Wait()
}

// users search a crawled web and click, by a known model.
type users struct {
	t       *testing.T
	handler http.Handler
	words   []string
	share   []float64              // of the queries, by word
	clicks  [2][10]float64         // c, by result page and position
	further float64                // share of those who look at the second result page
	found   map[string][2][]string // URLs, by word and result page
}

// newUsers has twelve words that are looked for, each on ten pages, and two on sixteen. The words are looked for with
// frequencies as 1/√rank. A result is clicked with a probability that falls as 1/place, and less on the second result
// page.
func newUsers(t *testing.T, handler http.Handler, words []string) *users {
	u := &users{t: t, handler: handler, words: words, further: 0.7, found: map[string][2][]string{}}
	sum := 0.0
	for i := range words {
		sum += 1 / math.Sqrt(float64(i+1))
	}
	for i, word := range words {
		u.share = append(u.share, 1/math.Sqrt(float64(i+1))/sum)
		u.found[word] = [2][]string{urlsOf(u.search(word, 0, false)), urlsOf(u.search(word, 1, false))}
	}
	for page := range u.clicks {
		for j := range u.clicks[page] {
			u.clicks[page][j] = 0.9 / float64(j+1) * math.Pow(0.8, float64(page))
		}
	}
	return u
}

func urlsOf(hits []dashboard.Hit) (urls []string) {
	for _, h := range hits {
		urls = append(urls, h.URL)
	}
	return urls
}

// search asks the search handler.
func (u *users) search(word string, page int, noted bool) (hits []dashboard.Hit) {
	w := httptest.NewRecorder()
	target := fmt.Sprintf("/api/v1/search?q=%s&from=%d&limit=10&noted=%v", word, 10*page, noted)
	u.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	lines := bufio.NewScanner(w.Body)
	for lines.Scan() {
		var hit dashboard.Hit
		if err := json.Unmarshal(lines.Bytes(), &hit); err != nil || w.Code != http.StatusOK {
			u.t.Fatalf("%s: %d, %v\n%s", target, w.Code, err, lines.Bytes())
		}
		hits = append(hits, hit)
	}
	return hits
}

// one lets the nth person search. Words come in turn, each as often as its share; clicks are drawn.
func (u *users) one(n int, rng *rand.Rand) {
	pick, word := math.Mod(float64(n)*math.Phi, 1), 0
	for pick -= u.share[word]; pick > 0 && word < len(u.words)-1; pick -= u.share[word] {
		word++
	}
	for page := range u.clicks {
		hits := u.search(u.words[word], page, true)
		if !slices.Equal(urlsOf(hits), u.found[u.words[word]][page]) {
			u.t.Fatalf("page %d of %s has changed", page, u.words[word])
		}
		for j, hit := range hits {
			if rng.Float64() >= u.clicks[page][j] {
				continue
			}
			w := httptest.NewRecorder()
			u.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/click?"+url.Values{"query": {hit.Query}, "url": {hit.URL}}.Encode(), nil))
			if w.Code != http.StatusSeeOther {
				u.t.Fatalf("a click: %d %s", w.Code, w.Body)
			}
		}
		if rng.Float64() >= u.further {
			return
		}
	}
}

// weights returns, by URL, the share of searches that click a page: eq. 8 of Wolf et al. without d.
func (u *users) weights() map[string]float64 {
	of := map[string]float64{}
	for i, word := range u.words {
		for page, urls := range u.found[word] {
			for j, at := range urls {
				of[at] += u.share[i] * math.Pow(u.further, float64(page)) * u.clicks[page][j]
			}
		}
	}
	return of
}

// The web of TestCircle.
const (
	circleSites, circlePages = 4, 60
	circleUsers              = 12_000
	circleDays               = 30
)

// TestCircle closes the circle. People search our own search and click. The log of clicks tells what each page is
// worth. A crawl by these weights embarrasses less often than a crawl that weighs all pages alike, by the ratio that
// the allocation predicts. Time is virtual.
func TestCircle(t *testing.T) {
	web := crawled.New(t, circleSites, circlePages)
	words := fillWeb(web)
	pages, err := index.Open(index.Options{Dir: filepath.Join(t.TempDir(), "index"), Store: web.Store(), Bell: &web.Bell, Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer pages.Close()
	if err := pages.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := begin
	r := newReader(web.Store())
	texts := newCorpus(r, clock.Real(), func() (*index.Index, error) { return pages, nil })
	defer texts.close()
	log := queriesIn(t.TempDir(), "main", 90*24*time.Hour, slog.New(slog.NewTextHandler(t.Output(), nil)))
	people := newUsers(t, dashboard.Handler(dashboard.Options{Reader: r, Corpus: texts, Queries: asked{log, func() time.Time { return now }}}), words)
	rng := rand.New(rand.NewPCG(1, 28))
	for n := range circleUsers {
		now = begin.Add(time.Duration(n) * (circleDays * 24 * time.Hour / circleUsers))
		people.one(n, rng)
	}
	now = begin.AddDate(0, 0, circleDays)
	learned, err := learnClicks(t.Context(), log, now, circleSites*circlePages, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	// The model counts an embarrassment for every other click on a stale copy: the log cannot tell.
	truth := people.weights()
	const perDay = circleUsers / circleDays / 2.0
	urls := allURLs(t)
	slices.SortFunc(urls, func(x, y weburl.URL) int {
		return cmp.Or(cmp.Compare(truth[y.String()], truth[x.String()]), cmp.Compare(x.String(), y.String()))
	})
	furthest := 0.0
	for _, at := range urls[:100] {
		got, want := learned.Of(at)*learned.Embarrassment, truth[at.String()]*perDay
		if off := math.Abs(got/want - 1); off > 0.1 {
			t.Errorf("a stale copy of %s is believed to embarrass %.4g queries a day, want %.4g", at, got, want)
		} else {
			furthest = max(furthest, off)
		}
	}
	if unseen := learned.Of(urls[len(urls)-1]); truth[urls[len(urls)-1].String()] > 0 || unseen != 0.05 {
		t.Errorf("a page that nobody finds weighs %v: want 0.05", unseen)
	}
	t.Logf("the hundred pages that matter most: at most %.3f off", furthest)

	c := newCircleCrawl(urls, func(at weburl.URL) float64 { return truth[at.String()] * perDay })
	ones, known := make([]float64, len(urls)), make([]float64, len(urls))
	for i, at := range urls {
		ones[i], known[i] = 1, learned.Of(at)
	}
	best, planned, alike := c.allocated(t, c.worth), c.allocated(t, known), c.allocated(t, ones)
	t.Logf("embarrassments a day as planned: %.3f by the true weights, %.3f by those learned, %.3f with all alike", best, planned, alike)
	if planned > best+0.01*alike {
		t.Errorf("a plan by what was learned embarrasses %.3f queries a day, want %.3f as by the true weights", planned, best)
	}
	live, liveAlike := c.crawled(t, known), c.crawled(t, nil)
	t.Logf("by the policy of a crawl, which learns how pages change: %.3f, with all alike %.3f", live, liveAlike)
	if got, want := live/liveAlike, best/alike; math.Abs(got-want) > 0.05 {
		t.Errorf("a crawl embarrasses %.3f times as often as one to which all pages are alike, want %.3f as allocated", got, want)
	}
}

// allURLs returns the pages of TestCircle.
func allURLs(t *testing.T) (urls []weburl.URL) {
	t.Helper()
	for site := range circleSites {
		for page := range circlePages {
			u, err := weburl.Parse(crawled.URL(site, page))
			if err != nil {
				t.Fatal(err)
			}
			urls = append(urls, u)
		}
	}
	return urls
}

// circleCrawl is pages that change at random, once a day to once a month, and a budget of a visit to each in four days.
type circleCrawl struct {
	urls  []weburl.URL
	rates []float64 // a day
	worth []float64 // what a stale copy embarrasses, a day
}

const (
	allocatedDays = 32
	visitsPerPage = 0.25 // a day
)

func newCircleCrawl(urls []weburl.URL, worth func(weburl.URL) float64) *circleCrawl {
	c := &circleCrawl{urls: urls}
	rng := rand.New(rand.NewPCG(2, 28))
	for _, at := range urls {
		c.rates = append(c.rates, math.Pow(30, -rng.Float64()))
		c.worth = append(c.worth, worth(at))
	}
	return c
}

// stale returns the share of the time in which a page's copy is stale if crawls come at even distances: Wolf et al.,
// eq. 14.
func (c *circleCrawl) stale(i, crawls int) float64 {
	u := c.rates[i] * allocatedDays / float64(crawls+1)
	return 1 + math.Expm1(-u)/u
}

// weighted is a circleCrawl as an allocate.Problem.
type weighted struct {
	*circleCrawl
	weights []float64
}

func (w weighted) Len() int                    { return len(w.rates) }
func (w weighted) Bounds(int) (int, int)       { return 0, 1000 }
func (w weighted) Gain(i, x int) float64       { return w.weights[i] * (w.stale(i, x) - w.stale(i, x+1)) }
func (w weighted) Crawls(int, float64) float64 { return allocatedDays * visitsPerPage }

// allocated returns the embarrassments a day under the best allocation by some weights.
func (c *circleCrawl) allocated(t *testing.T, weights []float64) (sum float64) {
	t.Helper()
	crawls, err := allocate.Multiplier(weighted{c, weights}, int(visitsPerPage*allocatedDays*float64(len(c.urls))))
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range crawls {
		sum += c.worth[i] * c.stale(i, int(x))
	}
	return sum
}

// crawled runs a crawl with the default policy over 180 days of drawn changes, in virtual time. It returns the
// embarrassments a day in the last 60 days.
func (c *circleCrawl) crawled(t *testing.T, weights []float64) (sum float64) {
	t.Helper()
	const day, days, scored = 86400.0, 180, 60
	rng := rand.New(rand.NewPCG(3, 28))
	world := &replay.World{Window: days * day, Score: scored * day}
	for i, at := range c.urls {
		life := replay.Life{Site: string(at.Site()), Path: at.Path(), End: world.Window}
		for change := rng.ExpFloat64() / c.rates[i] * day; change < world.Window; change += rng.ExpFloat64() / c.rates[i] * day {
			life.Updates = append(life.Updates, change)
		}
		world.Lives = append(world.Lives, life)
	}
	rate := visitsPerPage * float64(len(c.urls)) / day
	policy, err := policies.New(policies.Default, policies.Setting{Budget: rate, Interval: day, Random: rng})
	if err != nil {
		t.Fatal(err)
	}
	reached, err := replay.Run(t.Context(), world, policy, weights, replay.Rules{Rate: rate})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range reached.Pages {
		sum += c.worth[i] * (1 - s.Freshness())
	}
	return sum
}

// fillWeb writes the words that are looked for onto pages, and returns them.
func fillWeb(web *crawled.Web) (words []string) {
	text := map[string]string{}
	n := 0
	write := func(word string, on int) {
		words = append(words, word)
		for i := range on {
			at := crawled.URL(n%circleSites, n/circleSites)
			text[at] += strings.Repeat(" "+word, on-i) // the more often, the better the place
			n = (n + 1) % (circleSites * circlePages)
		}
	}
	for i := range 12 {
		write(fmt.Sprintf("topic%c", 'a'+i), 10)
	}
	n = 60
	for i := range 2 {
		write(fmt.Sprintf("broad%c", 'a'+i), 16)
	}
	for at, words := range text {
		web.Set(at, strings.Repeat("some ", 20)+words)
		web.Visit(at)
	}
	return words
}
