package explain

import (
	"testing"
	"time"

	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

func TestTrouble(t *testing.T) {
	pending := func(p *Page) { p.Visited, p.Queue, p.Outcome, p.Status = false, store.NewQueue, 0, 0 }
	failed := func(reason string) *Page {
		return known(func(p *Page) {
			p.State, p.Outcome, p.Status, p.Reason = store.StateUnreached, store.OutcomeFailed, 0, reason
		})
	}
	answered := func(status int) *Page {
		return known(func(p *Page) { p.State, p.Outcome, p.Status = store.StateError, store.OutcomeOf(status), status })
	}
	robots := func(status int, reason string) store.SiteRow {
		return store.SiteRow{Robots: store.RobotsState{Fetched: 1, Outcome: store.OutcomeFailed, Status: status, Reason: reason}}
	}
	tests := []struct {
		name  string
		world world
		want  string
	}{
		{"stored", world{site: asked, page: known(func(p *Page) { p.State, p.Versions = store.StateLive, 1 })}, ""},
		{"waits", world{site: asked, page: known(pending)}, ""},
		{"not asked yet", world{page: known(pending)}, ""},
		{"host asks for a pause", world{site: asked, page: known(pending), obstacles: []frontier.Obstacle{{Gate: "back-off", Until: now.Add(time.Hour)}}},
			"a.test failed or asked for a pause, and is not asked again before 2026-03-01 13:00:00 UTC: wait, or run again later, with a longer --delay"},
		{"host was asked just before", world{site: asked, page: known(pending), obstacles: []frontier.Obstacle{{Gate: "back-off", Until: now.Add(15 * time.Second)}}}, ""},
		{"host has its interval", world{site: asked, page: known(pending), obstacles: []frontier.Obstacle{{Gate: "interval", Until: now.Add(time.Second)}}}, ""},
		{"loopback", world{site: robots(0, "fetch: dns: refused-address: fetch: address 127.0.0.3 (loopback): not an address of the public internet"), page: known(pending)},
			"a.test (127.0.0.3) is a loopback address: add --allow-private if you mean to crawl it"},
		{"no address", world{site: robots(0, "fetch: dns: dns-failed: fetch: look up a.test: host has no address"), page: known(pending)},
			"a.test has no address (DNS): check its spelling"},
		{"no name server", world{site: robots(0, "fetch: dns: dns-failed: fetch: look up a.test: server misbehaving"), page: known(pending)},
			"no name server knows an address of a.test: check the network, or give --resolve a.test=ADDR:PORT"},
		{"refused", world{site: robots(0, "fetch: connect: connect-failed: dial tcp 192.0.2.1:81: connect: connection refused"), page: known(pending)},
			"connection refused by 192.0.2.1:81: is the server up, and the port right?"},
		{"no route", world{site: asked, page: failed("fetch: connect: connect-failed: dial tcp 192.0.2.1:81: connect: no route to host")},
			"no connection to a.test (no route to host): check the network"},
		{"TLS", world{site: asked, page: failed("fetch: tls: tls-failed: tls: first record does not look like a TLS handshake")},
			"a.test does not speak TLS at this port: try http://"},
		{"slow", world{site: asked, page: failed("fetch: request: timed-out: nothing came")},
			"a.test did not answer in time: freshet recrawl http://a.test/x, then run again later"},
		{"slow, and tried again", world{site: asked, page: known(func(p *Page) {
			*p = *failed("fetch: request: timed-out: nothing came")
			p.Queue = store.DueQueue
		})}, "a.test did not answer in time: run again later"},
		{"closed", world{site: asked, page: failed("fetch: request: disconnected: EOF")}, "a.test closed the connection without an answer: is it http:// or https://?"},
		{"another text", world{site: asked, page: failed("it broke")}, "no answer from a.test: see freshet explain http://a.test/x"},
		{"robots.txt out of order", world{site: robots(503, ""), page: known(pending)},
			"robots.txt of http://a.test answers 503 Service Unavailable, and no page may be fetched until it can be read: run again later"},
		{"robots.txt forbids all", world{site: asked, robots: "user-agent: *\ndisallow: /", page: known(func(p *Page) { p.RefusedByRobots, p.Reason = true, "robots" })},
			"robots.txt of http://a.test forbids all pages to this crawler: ask its owner for access, or for a name to use as --user-agent"},
		{"robots.txt forbids it", world{site: asked, robots: "user-agent: *\ndisallow: /x", page: known(func(p *Page) { p.RefusedByRobots, p.Reason = true, "robots" })},
			"robots.txt of http://a.test forbids /x: ask its owner, or crawl what it allows"},
		{"missing", world{site: asked, page: answered(404)}, "http://a.test/x answers 404 Not Found: check the address"},
		{"forbidden", world{site: asked, page: answered(403)}, "http://a.test/x answers 403 Forbidden: it may not want crawlers: ask the owner of a.test"},
		{"broken", world{site: asked, page: answered(500)}, "http://a.test/x answers 500 Internal Server Error: freshet recrawl http://a.test/x, then run again later"},
		{"goes round", world{site: asked, page: known(func(p *Page) {
			p.State, p.Outcome, p.Status, p.Redirect = store.StateRedirect, store.OutcomeRedirected, 302, mustParse(t, "http://a.test/x")
		})},
			"http://a.test/x redirects in a circle: open it in a browser, and crawl the address where you arrive"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x, err := test.world.about().Explain("http://a.test/x", now)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if x.Trouble != nil {
				got = x.Trouble.String()
			}
			if got != test.want {
				t.Errorf("trouble %q, want %q", got, test.want)
			}
		})
	}
}

func mustParse(t *testing.T, text string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
