package hostile

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"freshet/clock"
	"freshet/consent"
	"freshet/node"
	"freshet/store"
	"freshet/weburl"
)

// TestTDMRepAnswers holds that no tdmrep.json delays a page of its site or another's. The crawl obeys the readable
// part of the file, and finds no pages through it.
func TestTDMRepAnswers(t *testing.T) {
	const rule = `{"location": "/", "tdm-reservation": 1}, `
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	json := func(body string) answer { return says(page("application/json", body)) }
	silent := func(io.Writer, *http.Request) bool {
		_ = clock.Real().Sleep(context.Background(), time.Hour)
		return false
	}
	to := func(target string) answer { return says(status(http.StatusFound, "Location: "+target)) }
	reserved := map[string]answer{
		"endless.test": func(out io.Writer, _ *http.Request) bool { return endless(out, head+"\r\n["+rule, rule) },
		"huge.test": func(out io.Writer, _ *http.Request) bool {
			return endless(out, head+"Content-Length: 1099511627776\r\n\r\n["+rule, strings.Repeat(" ", 32<<10))
		},
		"string.test": func(out io.Writer, _ *http.Request) bool {
			return endless(out, head+"\r\n["+rule+`{"location": "`, strings.Repeat("x", 32<<10))
		},
		"text.test":  says(page("text/html", "["+rule+"]")),
		"image.test": says(page("image/gif", "["+rule+"]")),
		"cut.test":   json("[" + rule + `{"location`),
		"zeros.test": json("[" + rule + strings.Repeat("\x00", 1000)),
		"lines.test": json(`[{"location": "/", "tdm-reservation": 1, "tdm-policy": "x\nheader tdm-reservation: 0"}]`),
		"odd.test":   says(strings.Replace(page("application/json", "["+rule+"]"), "200 OK", "203 Odd", 1)),
		"led.test":   to("http://endless.test/.well-known/tdmrep.json"),
		"stars.test": json(`[{"location": "/` + strings.Repeat("*a", 25_000) + `", "tdm-reservation": 0}, ` + rule),
	}
	unsaid := map[string]answer{
		"silent.test": silent,
		"drip.test": func(out io.Writer, _ *http.Request) bool {
			return drip(out, page("application/json", "["+rule+strings.Repeat(" ", 1000)))
		},
		"hangsup.test":   func(io.Writer, *http.Request) bool { return false },
		"malformed.test": func(out io.Writer, r *http.Request) bool { says("["+rule)(out, r); return false },
		"error.test":     says(status(http.StatusInternalServerError)),
		"many.test":      says(status(http.StatusTooManyRequests)),
		"missing.test":   says(status(http.StatusNotFound)),
		"empty.test":     json(""),
		"page.test":      says(html("<title>Not found</title>" + rule)),
		"bomb.test":      says(head + "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnone"),
		"deep.test":      json(strings.Repeat("[", 60_000)),
		"deeper.test":    json(`[{"location": "/", "tdm-reservation": ` + strings.Repeat(`{"a":`, 12_000)),
		"nulls.test":     json("[null, 7, {}, " + strings.Repeat(`{"location": "/"},`, 3000) + "null]"),
		"sitemap.test":   json("Sitemap: http://sitemap.test/planted\n"),
		"self.test":      to("/.well-known/tdmrep.json"),
		"here.test":      to("http://there.test/.well-known/tdmrep.json"),
		"there.test":     to("http://here.test/.well-known/tdmrep.json"),
		"inside.test":    to("http://127.0.0.1/tdmrep.json"),
		"file.test":      to("file:///etc/passwd"),
		"nowhere.test":   to("http://no-such-name.test/"),
	}
	hosts, explains := map[string]answer{}, map[string]string{"http://sitemap.test/planted": "seen: unknown"}
	wants := map[string]consent.Verdict{}
	var seeds []string
	add := func(answers map[string]answer, verdict consent.Verdict) {
		for host, file := range answers {
			hosts[host], wants[host] = file, verdict
			seeds = append(seeds, "http://"+host+"/")
			explains["http://"+host+"/"], explains["http://"+host+"/"+strings.Repeat("a", 1000)] = "", ""
		}
	}
	add(reserved, consent.Disallowed)
	add(unsaid, consent.Unsaid)
	trial{
		hosts: func(n *network) {
			for host, file := range hosts {
				n.host(host, server{answer: each(func(out io.Writer, r *http.Request) bool {
					if r.URL.Path == "/.well-known/tdmrep.json" {
						return file(out, r)
					}
					link := fmt.Sprintf("<title>%s</title><a href=/%s>more</a>", r.URL.Path, strings.Repeat("a", 1000))
					return says(html(link))(out, r)
				})})
			}
		},
		seeds: seeds, explains: explains,
		options: func(o *node.Options) { o.Connections, o.TDMRep = 64, true },
		check: func(t *testing.T, n *network, s *store.Store) {
			for host, want := range wants {
				for _, path := range []string{"/", "/" + strings.Repeat("a", 1000)} {
					u, err := weburl.Parse("http://" + host + path)
					if err != nil {
						t.Fatal(err)
					}
					row, _, err := s.PageOf(u)
					if err != nil || row.State != store.StateLive {
						t.Errorf("%s%.4s: %v, error %v: want it stored", host, path, row.State, err)
					}
					if got := consent.Parse(row.SiteSignals).Verdict(consent.AITrain); got != want {
						t.Errorf("%s%.4s: training is %v, want %v: %q", host, path, got, want, row.SiteSignals)
					}
				}
			}
		},
	}.run(t)
}
