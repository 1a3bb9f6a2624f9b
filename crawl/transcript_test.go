package crawl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"freshet/crawl/share"
	"freshet/frontier"
	"freshet/internal/transcript"
	"freshet/store"
	"freshet/weburl"
)

// TestTranscripts holds a shard's decisions to the transcripts in testdata. A transcript tells the events of the web
// and the crawl, and the requests that follow. Each request has its time since the beginning.
//
//	page URL STATUS [LINK...]   the URL answers so from now on; "down" for no answer, "barred" for an
//	                            address that may not be asked, "long" for 200 and a kilobyte, packed into 100 bytes
//	robots SITE LINE; LINE...   the site's robots.txt; a status, "down", "barred" or "nobody" instead of lines
//	reserves SITE JSON          the site's tdmrep.json
//	signals                     prints what sites say about the use of their pages
//	later URL DURATION          its answers have that Retry-After
//	change URL                  its content changes
//	set NAME=VALUE...           sets the crawl's settings: delay, budget, interval, pages, retries, scope, agent,
//	                            tdmrep, wait, hours, refresh=no, body, rules (bytes of them in memory)
//	start SEED...               the crawl begins, or goes on
//	run DURATION                time passes: prints the events
//	count DURATION              time passes: prints how many requests each site gets
//	stop, kill                  the crawl ends in order, or is cut off
//	add, ping, recrawl URL...; recrawl-site, pause, resume SITE; pause, resume; block, unblock HOST; purge URL;
//	purge-site SITE
//	reload                      the crawl takes up the settings
//	part REQUESTS SHARE         the shard's part of the crawl's budget, and the share of it for new pages
//	rows                        prints the pages
//	cash                        prints the cash of the waiting pages
//	kept                        prints how many pages are kept fresh
//	spent                       prints what the budget's requests were for, in the last interval and in this one
//	waits SITE                  prints what keeps the site from being asked, at its owner
//	shards NAME...              these shards crawl together from here on; the first owns all, see crew.command
func TestTranscripts(t *testing.T) {
	transcript.Run(t, func(t *testing.T) func([]string) string {
		w := newWorld(t)
		var c *crew
		return func(commands []string) string {
			for _, line := range commands {
				words := strings.Fields(line)
				switch {
				case words[0] == "shards":
					c = crewOf(w, words[1:]...)
				case c != nil:
					c.command(w, words[0], words[1:])
				default:
					w.command(words[0], words[1:])
				}
			}
			if c != nil {
				w.lines = append(w.lines, c.lines...)
				c.lines = nil
			}
			lines := w.lines
			w.lines = nil
			return strings.Join(append(lines, ""), "\n")
		}
	})
}

func (w *world) command(name string, args []string) {
	switch name {
	case "page":
		at := w.page(args[0])
		at.down, at.barred = args[1] == "down", args[1] == "barred"
		at.status, _ = strconv.Atoi(args[1])
		if at.long = args[1] == "long"; at.long {
			at.status = 200
		}
		at.links = nil
		for _, link := range args[2:] {
			at.links = append(at.links, w.url(link).String())
		}
	case "robots":
		at := w.page(args[0] + "/robots.txt")
		at.down, at.barred, at.nobody = args[1] == "down", args[1] == "barred", args[1] == "nobody"
		at.status = 200
		if status, err := strconv.Atoi(args[1]); err == nil {
			at.status = status
		}
		at.body = "User-agent: *\n" + strings.ReplaceAll(strings.Join(args[1:], " "), "; ", "\n")
	case "reserves":
		at := w.page(args[0] + "/.well-known/tdmrep.json")
		at.status, at.body = 200, strings.Join(args[1:], " ")
		at.down = args[1] == "down"
	case "signals":
		w.signals()
	case "later":
		w.page(args[0]).retryAfter = w.duration(args[1])
	case "change":
		w.page(args[0]).body += "."
	case "set":
		for _, arg := range args {
			w.set(strings.Cut(arg, "="))
		}
	case "start":
		w.settings.Seeds = nil
		for _, seed := range args {
			w.settings.Seeds = append(w.settings.Seeds, w.url(seed))
		}
		w.open()
	case "run":
		w.run(w.duration(args[0]))
	case "count":
		w.count(w.duration(args[0]))
	case "stop", "kill":
		w.stop(name == "stop")
	case "widen":
		w.tell(Widen{Sites: []weburl.Site{w.url(args[0]).Site()}})
	case "part":
		requests, _ := strconv.ParseInt(args[0], 10, 64)
		discovery, _ := strconv.ParseFloat(args[1], 64)
		w.tell(Budget{share.Part{Requests: requests, Discovery: discovery}})
	case "rows":
		w.rows()
	case "cash":
		w.cash()
	case "waits":
		for _, o := range w.shard.Obstacles(w.url(args[0]).Site(), w.now) {
			text := fmt.Sprintf("%s waits: %s", args[0], o.Gate)
			if o.Host != "" {
				text += fmt.Sprintf(" on %s, of another shard %v", o.Host, o.Away)
			}
			w.log(text)
		}
	case "spent":
		last, this := w.shard.fresh.pacer.Spent(w.now)
		w.lines = append(w.lines, fmt.Sprintf("last: %+v", last), fmt.Sprintf("this: %+v", this))
	case "kept":
		w.lines = append(w.lines, fmt.Sprintf("%d pages are kept fresh", w.shard.Status(w.now).Kept))
	default:
		w.order(w.orderOf(name, args))
	}
}

func (w *world) orderOf(name string, args []string) Order {
	var urls []weburl.URL
	for _, arg := range args {
		if !strings.Contains(arg, "=") {
			urls = append(urls, w.url(arg))
		}
	}
	paused := name == "pause"
	switch name {
	case "add":
		return Add{urls}
	case "ping":
		return Ping{urls}
	case "recrawl":
		return Recrawl{urls[0]}
	case "recrawl-site":
		return RecrawlSite{urls[0].Site()}
	case "pause", "resume":
		if len(args) == 0 {
			return PauseAll{paused}
		}
		return Pause{urls[0].Site(), paused}
	case "pace":
		pace := Pace{Site: urls[0].Site()}
		for _, arg := range args[1:] {
			if value, is := strings.CutPrefix(arg, "delay="); is {
				delay := w.duration(value)
				pace.Delay = &delay
			} else if value, is := strings.CutPrefix(arg, "budget="); is {
				budget, err := strconv.Atoi(value)
				check(w.t, err)
				pace.Budget = &budget
			}
		}
		return pace
	case "block":
		return Block{Host: args[0]}
	case "unblock":
		return Unblock{args[0]}
	case "purge":
		return Purge{store.Target{URL: urls[0]}}
	case "purge-site":
		return Purge{store.Target{Site: urls[0].Site()}}
	case "reload":
		return Reload{w.settings}
	}
	w.t.Fatalf("no such command: %s", name)
	return nil
}

// set changes a setting.
func (w *world) set(name, value string, _ bool) {
	o := &w.settings
	number, _ := strconv.ParseInt(value, 10, 64)
	refresh := func() *Refresh {
		if o.Refresh == nil {
			r, err := Refresh{Budget: 1}.WithDefaults()
			check(w.t, err)
			o.Refresh = &r
		}
		r := *o.Refresh
		o.Refresh = &r
		return o.Refresh
	}
	switch name {
	case "delay":
		o.Delay = w.duration(value)
	case "budget":
		refresh().Budget = number
	case "interval":
		refresh().Interval = w.duration(value)
	case "refresh": // only to be switched off: a budget switches it on
		o.Refresh = nil
	case "order":
		ordering, err := frontier.ParseOrdering(value)
		check(w.t, err)
		o.Ordering = ordering
	case "pages":
		o.MaxPages = number
	case "rules":
		o.RobotsBytes = number
	case "body":
		o.MaxBody = number
	case "retries":
		o.Retries = int(number)
	case "scope":
		o.Scope = value
	case "agent":
		o.Agent = value
	case "tdmrep":
		o.TDMRep = true
	case "wait":
		o.Wait = true
	case "hours":
		site, hours, _ := strings.Cut(value, "@")
		match, err := frontier.ParsePattern(site)
		check(w.t, err)
		parsed, err := frontier.ParseHours(hours)
		check(w.t, err)
		o.Rules.Sites = append(slices.Clone(o.Rules.Sites), SiteRule{Match: match, Manners: frontier.Manners{Hours: parsed}})
	default:
		w.t.Fatalf("no such setting: %s", name)
	}
}

// count lets time pass and prints how many requests for pages each site got.
func (w *world) count(d time.Duration) {
	before := len(w.lines)
	w.run(d)
	sites := map[string]int{}
	for _, line := range w.lines[before:] {
		if _, rest, ok := strings.Cut(line, " GET "); ok && !strings.Contains(rest, "/robots.txt") {
			u, _, _ := strings.Cut(rest, " ")
			sites[w.url(u).Site().Host()]++
		}
	}
	w.lines = w.lines[:before]
	var names []string
	for name := range sites {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w.lines = append(w.lines, fmt.Sprintf("%s: %d", name, sites[name]))
	}
}

// rows prints the pages.
func (w *world) rows() {
	var lines []string
	for p := range w.settings.Partitions {
		for row, err := range w.store.Pages(weburl.Partition(p)) {
			check(w.t, err)
			line := fmt.Sprintf("%s %s", row.URL, row.State)
			if row.Queue != store.NoQueue {
				line += fmt.Sprintf(" queued %s", row.Queue)
			}
			if row.Reason != "" {
				line += " " + row.Reason
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	w.lines = append(w.lines, lines...)
}

// signals prints what sites say about the use of their pages.
func (w *world) signals() {
	var lines []string
	for p := range w.settings.Partitions {
		for row, err := range w.store.Pages(weburl.Partition(p)) {
			check(w.t, err)
			lines = append(lines, fmt.Sprintf("%s %q", row.URL, strings.Split(row.SiteSignals, "\n")))
		}
	}
	slices.Sort(lines)
	w.lines = append(w.lines, lines...)
}

// cash prints the cash of the pages that wait.
func (w *world) cash() {
	var lines []string
	for p := range w.settings.Partitions {
		for row, err := range w.store.Pages(weburl.Partition(p)) {
			check(w.t, err)
			if row.Queue != store.NoQueue {
				lines = append(lines, fmt.Sprintf("%s %g", row.URL, row.Cash))
			}
		}
	}
	slices.Sort(lines)
	w.lines = append(w.lines, lines...)
}

func (w *world) page(name string) *page {
	u := w.url(name).String()
	if w.web[u] == nil {
		w.web[u] = &page{status: 200}
	}
	return w.web[u]
}

// url parses a URL. The scheme may be missing.
func (w *world) url(text string) weburl.URL {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := weburl.Parse(text)
	check(w.t, err)
	return u
}

func (w *world) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	check(w.t, err)
	return d
}
