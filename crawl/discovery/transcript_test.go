package discovery

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"freshet/frontier"
	"freshet/internal/transcript"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// TestTranscripts runs each block of testdata/*.txt in a world of its own. The commands are
//
//	bounds scope=site depth=2 pages=3 exclude=PATTERN include=PATTERN requisites=all   other bounds, no seed
//	seed URL                                            an operator's seed
//	page URL depth=1 hops=0 cash=1 type=text/css LINK...   a stored page's links; "redirect:URL" is its redirect,
//	                                                    "needs:URL" is its requisite
//	again URL LINK...                                   the same links again
//	settle                                              the seen test decides
//	ranked URL                                          the page was known when pages were last ranked
//	admits URL                                          prints whether a known page belongs to the crawl
//	readmit URL                                         prints its new record, or that it stays
func TestTranscripts(t *testing.T) {
	transcript.Run(t, func(t *testing.T) func([]string) string {
		return func(commands []string) string {
			w := newWorld(t)
			for _, line := range commands {
				w.command(strings.Fields(line))
			}
			return w.out.String()
		}
	})
}

// world is the rest of the crawl around the finder: rows, and a seen test that remembers all links.
type world struct {
	t       *testing.T
	out     strings.Builder
	finder  *Finder
	pages   map[weburl.URL]store.Page
	sites   map[weburl.Site]int64
	known   map[weburl.URL]bool
	waiting []weburl.Link
	ranked  map[weburl.Fingerprint]bool
	record  uint64 // the last page's
	kept    []seen.Mark
}

var now = time.Unix(1_000_000_000, 0).UTC()

func newWorld(t *testing.T) *world {
	w := &world{t: t, pages: map[weburl.URL]store.Page{}, sites: map[weburl.Site]int64{},
		known: map[weburl.URL]bool{}, ranked: map[weburl.Fingerprint]bool{}}
	ranked := func(_ weburl.Partition, fp weburl.Fingerprint) bool { return w.ranked[fp] }
	w.finder = New(w, 1, frontier.OPIC{}, ranked, Bounds{})
	w.bounds(nil)
	return w
}

func (w *world) Home(weburl.Site) weburl.Partition { return 0 }

func (w *world) Site(site weburl.Site) (store.SiteRow, error) {
	if n, ok := w.sites[site]; ok {
		return store.SiteRow{Site: site, Pages: n}, nil
	}
	return store.SiteRow{}, store.ErrNotFound
}

func (w *world) PageOf(u weburl.URL) (store.Page, weburl.Fingerprint, error) {
	if page, ok := w.pages[u]; ok {
		return page, u.Fingerprint(), nil
	}
	return store.Page{}, 0, store.ErrNotFound
}

func (w *world) printf(format string, args ...any) { fmt.Fprintf(&w.out, format+"\n", args...) }

func (w *world) command(words []string) {
	args := words[1:]
	switch words[0] {
	case "bounds":
		w.bounds(args)
	case "seed":
		link, known, err := w.finder.Seed(w.parse(args[0]), now)
		if err != nil {
			w.t.Fatal(err)
		}
		w.offer(w.finder.Admit([]weburl.Link{link}, 1))
		if known != nil {
			w.apply(known)
		}
	case "page":
		links, cash := w.page(args)
		w.record++
		w.offer(w.finder.Admit(links, cash))
	case "again":
		links, _ := w.page(args)
		w.offer(w.finder.AdmitAgain(links))
	case "settle":
		w.settle()
	case "ranked":
		w.ranked[w.parse(args[0]).Fingerprint()] = true
	case "admits":
		reason, ok := w.finder.Bounds().Admits(w.pages[w.parse(args[0])])
		w.printf("%s %v %s", args[0], ok, reason)
	case "readmit":
		u := w.parse(args[0])
		r := w.finder.Bounds().Readmit(0, store.PageAt{Page: w.pages[u], Fingerprint: u.Fingerprint()}, now)
		if w.apply(r); r == nil {
			w.printf("%s stays", u)
		}
	default:
		w.t.Fatalf("no command %s", words[0])
	}
}

func (w *world) parse(text string) weburl.URL {
	u, err := weburl.Parse(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

func (w *world) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) bounds(words []string) {
	b := Bounds{Name: "site", Of: func(weburl.Site) Limits { return Limits{} }}
	var exclude, include []frontier.Pattern
	for _, word := range words {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "scope":
			b.Name = value
		case "depth":
			b.Limits.Depth = w.number(value)
		case "pages":
			b.Limits.Pages = int64(w.number(value))
		case "exclude":
			exclude = append(exclude, w.pattern(value))
		case "include":
			include = append(include, w.pattern(value))
		case "requisites":
			var err error
			if b.Requisites, err = frontier.ParseRequisites(value); err != nil {
				w.t.Fatal(err)
			}
		default:
			w.t.Fatalf("no bound %s", word)
		}
	}
	b.URLs.Exclude, b.URLs.Include = frontier.NewPatterns(exclude), frontier.NewPatterns(include)
	scope, err := frontier.ParseScope(b.Name)
	if err != nil {
		w.t.Fatal(err)
	}
	for u, page := range w.pages {
		if page.Seed {
			scope.AddSeed(u)
		}
	}
	b.Scope = scope
	w.finder.SetBounds(b)
}

func (w *world) pattern(text string) frontier.Pattern {
	p, err := frontier.ParsePattern(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// page returns the links of a page with their shares, and its cash.
func (w *world) page(words []string) (links []weburl.Link, cash float64) {
	u := w.parse(words[0])
	page := store.Page{URL: u, Rel: w.pages[u].Rel, Seed: w.pages[u].Seed}
	var found []store.OutLink
	for _, word := range words[1:] {
		target, redirect := strings.CutPrefix(word, "redirect:")
		needed, needs := strings.CutPrefix(word, "needs:")
		key, value, _ := strings.Cut(word, "=")
		switch {
		case redirect:
			found = append(found, store.OutLink{URL: w.parse(target), Rel: weburl.RelRedirect})
		case needs:
			found = append(found, store.OutLink{URL: w.parse(needed), Rel: weburl.RelEmbed})
		case key == "type":
			page.ContentType = value
		case key == "depth":
			page.Depth = uint16(w.number(value))
		case key == "hops":
			page.Hops = uint8(w.number(value))
		case key == "cash":
			cash = float64(w.number(value))
		default:
			found = append(found, store.OutLink{URL: w.parse(word), Rel: weburl.RelAnchor})
		}
	}
	links = PageLinks(found, page)
	Share(w.finder.ordering, page.URL, links)
	return links, cash
}

func (w *world) offer(links []weburl.Link) {
	for _, l := range links {
		w.printf("offer %s depth=%d hops=%d cash=%.3g", l.URL, l.Depth, l.Hops, l.Cash)
	}
	w.waiting = append(w.waiting, links...)
}

func (w *world) settle() {
	var verdicts []seen.Verdict
	for _, l := range w.waiting {
		verdicts = append(verdicts, seen.Verdict{Link: l, New: !w.known[l.URL]})
		w.known[l.URL] = true
	}
	decided := []seen.Mark{{Record: w.record}}
	found, err := w.finder.Settle(verdicts, decided, w.kept, now)
	if err != nil {
		w.t.Fatal(err)
	}
	w.waiting, w.kept = nil, decided
	w.printf("settle: %d pages, %d sites", found.Pages, found.Sites)
	for _, r := range found.Records {
		w.apply(r)
	}
}

// apply prints a record and changes the rows as the store would.
func (w *world) apply(r store.Record) {
	switch r := r.(type) {
	case *store.Discovered:
		for _, n := range r.New {
			w.printf("  new %s depth=%d hops=%d cash=%.3g seed=%v%s", n.URL, n.Depth, n.Hops, n.Cash, n.Seed, ahead(n))
			if _, ok := w.pages[n.URL]; !ok {
				w.sites[n.URL.Site()]++
			}
			w.pages[n.URL] = store.Page{URL: n.URL, Depth: n.Depth, Hops: n.Hops, Rel: n.Rel, Seed: n.Seed,
				Queue: store.NewQueue}
		}
		for _, n := range r.Repeats {
			for u := range maps.Keys(w.known) {
				if u.Fingerprint() == n.Fingerprint {
					w.printf("  repeat %s depth=%d hops=%d cash=%.3g", u, n.Depth, n.Hops, n.Cash)
				}
			}
		}
		for _, n := range r.Refused {
			w.printf("  refused %s %s %d", n.Site, n.Reason, n.Count)
		}
	case *store.Mark:
		w.printf("  mark %s %d", r.Consumer, r.Record)
	case *store.Refused:
		w.printf("  out %s %s", r.URL, r.Reason)
		page := w.pages[r.URL]
		page.Queue, page.Reason = store.NoQueue, r.Reason
		w.pages[r.URL] = page
	case *store.Planned:
		w.printf("  due")
	}
}

// ahead describes the place of a new requisite in the queue.
func ahead(n store.NewPage) string {
	if n.Rel != weburl.RelEmbed {
		return ""
	}
	return fmt.Sprintf(" requisite, as of cash %g", weburl.OrderCash(n.Order))
}

// FuzzShares holds that a page passes on no more than its cash, in equal parts to all different links that the finder
// admits.
func FuzzShares(f *testing.F) {
	f.Add([]byte{1, 2, 2, 3}, uint16(7))
	f.Fuzz(func(t *testing.T, targets []byte, amount uint16) {
		w := newWorld(t)
		page := store.Page{URL: w.parse("http://a.test/0")}
		w.finder.Bounds().Scope.AddSeed(page.URL)
		var found []store.OutLink
		distinct := map[byte]bool{}
		for _, n := range targets {
			host := "a.test"
			if n >= 200 {
				host = "b.test" // outside of the scope
			} else if n > 0 {
				distinct[n] = true
			}
			found = append(found, store.OutLink{URL: w.parse(fmt.Sprintf("http://%s/%d", host, n)), Rel: weburl.RelAnchor})
		}
		links := PageLinks(found, page)
		Share(w.finder.ordering, page.URL, links)
		want := frontier.Pay(w.finder.ordering, float64(amount), len(distinct))
		paid := map[weburl.URL]int{}
		for _, l := range w.finder.Admit(links, float64(amount)) {
			if l.Cash == 0 {
				continue
			}
			if paid[l.URL]++; l.Cash != want {
				t.Errorf("%s has %g of %d, want %g", l.URL, l.Cash, amount, want)
			}
		}
		for u, n := range paid {
			if n > 1 {
				t.Errorf("%s is paid %d times", u, n)
			}
		}
		if amount > 0 && len(paid) != len(distinct) {
			t.Errorf("paid %v, want %d different links", paid, len(distinct))
		}
	})
}
