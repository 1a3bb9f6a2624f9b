package hostile

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"freshet/node"
)

func TestCharsetsThatLie(t *testing.T) {
	pages := map[string]string{
		"/utf8":    page("text/html; charset=utf-8", "<title>\xff\xfe\xc3\x28</title>\xf0\x28\x8c\x28 <a href='/next/\xff'>next</a>"),
		"/utf16":   page("text/html; charset=utf-16le", "<title>ASCII</title>, whatever the header says. <a href=/next/ascii>next</a>"),
		"/unknown": page("text/html; charset=klingon", "<title>Unknown</title> <a href=/next/unknown>next</a>"),
		"/meta":    page("text/html; charset=utf-8", "<meta charset=shift_jis><title>Both</title> <a href=/next/both>next</a>"),
		"/image":   page("image/png", "<title>No image</title> <a href=/next/image>next</a>"),
		"/nul":     page("text/html", "<title>\x00\x00</title>"+strings.Repeat("\x00", 1000)+"<a href=/next/nul>next</a>"),
	}
	for _, name := range []string{"%FF", "ascii", "unknown", "both", "nul"} {
		pages["/next/"+name] = html("<title>Next</title>The page after " + name)
	}
	trial{
		evil:  server{answer: site(pages)},
		seeds: []string{"/utf8", "/utf16", "/unknown", "/meta", "/image", "/nul"},
		explains: map[string]string{
			"/utf8": "", "/utf16": "", "/unknown": "", "/meta": "", "/image": "", "/nul": "",
			"/next/unknown": "", "/next/both": "", "/next/nul": "", "/next/image": "seen: unknown",
		},
	}.run(t)
}

func TestHundredThousandLinks(t *testing.T) {
	var links strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&links, "<a href=/l/%d>%d</a>", i, i)
	}
	trial{
		evil: server{answer: each(func(out io.Writer, r *http.Request) bool {
			text := html("<title>Leaf</title>" + r.URL.Path)
			if r.URL.Path == "/" {
				text = html(links.String())
			}
			_, err := io.WriteString(out, text)
			return err == nil
		})},
		options:  func(o *node.Options) { o.PagesPerSite, o.MaxBody = 50, 8<<20 },
		explains: map[string]string{"/": "", "/l/0": "", "/l/48": "", "/l/49": "guard: site-full", "/l/99999": "guard: site-full"},
	}.run(t)
}

func TestDeeplyNestedMarkup(t *testing.T) {
	const deep = 150_000
	pages := map[string]string{
		"/next": html("<title>Next</title>The page after all that."),
		"/div":  html(strings.Repeat("<div>", deep) + "<a href=/next>next</a>"),
		"/font": html(strings.Repeat("<b><i><font>", deep/3) + "<a href=/next>next</a>" + strings.Repeat("</b></i>", deep/3)),
		"/list": html(strings.Repeat("<table><tr><td><ul><li>", deep/6) + "<a href=/next>next</a>"),
		"/xml":  page("application/rss+xml", "<rss>"+strings.Repeat("<item>", deep)),
	}
	trial{
		evil:     server{answer: site(pages)},
		seeds:    []string{"/div", "/font", "/list", "/xml"},
		explains: map[string]string{"/div": "", "/font": "", "/list": "", "/xml": "", "/next": ""},
	}.run(t)
}

func TestInfiniteCalendar(t *testing.T) {
	trial{
		evil: server{answer: each(func(out io.Writer, r *http.Request) bool {
			var year, month int
			fmt.Sscanf(r.URL.Path, "/calendar/%d/%d", &year, &month)
			next, before := year*12+month, year*12+month-2
			_, err := fmt.Fprint(out, html(fmt.Sprintf("<title>%d of %d</title>Nothing is on. <a href=/calendar/%d/%02d>next</a> <a href=/calendar/%d/%02d>before</a>",
				month, year, next/12, next%12+1, before/12, before%12+1)))
			return err == nil
		})},
		seeds:    []string{"/calendar/2026/03"},
		explains: map[string]string{"/calendar/2028/12": "", "/calendar/2029/01": "guard: calendar", "/calendar/1989/12": "guard: calendar", "/calendar/1990/01": ""},
	}.run(t)
}

// Mazes that no rule about a URL finds out: the cap of the site ends them, whatever they call the
// parameter, and at the pace of one site.
func TestMazes(t *testing.T) {
	maze := func(link func(n int) string) answer {
		n := 0
		return each(func(out io.Writer, r *http.Request) bool {
			n += 3
			_, err := fmt.Fprint(out, html(fmt.Sprintf("<title>Room %d</title>A room much like the others. <a href='%s'>a</a> <a href='%s'>b</a> <a href='%s'>c</a>", n, link(n), link(n+1), link(n+2))))
			return err == nil
		})
	}
	trial{
		hosts: func(n *network) {
			n.host("sessions.test", server{answer: maze(func(n int) string { return fmt.Sprintf("/shop?PHPSESSID=%032x", n) })})
			n.host("matrix.test", server{answer: maze(func(n int) string { return fmt.Sprintf("/shop;jsessionid=%08X?page=%d", n, n%3) })})
			n.host("filters.test", server{answer: maze(func(n int) string { return fmt.Sprintf("/?color=%d&size=%d&sort=%d", n%7, n/7%5, n/35) })})
			n.host("paths.test", server{answer: maze(func(n int) string { return fmt.Sprintf("/x%d/y%d/z%d", n%10, n/10%10, n/100) })})
			n.host("loops.test", server{answer: each(func(out io.Writer, r *http.Request) bool {
				_, err := io.WriteString(out, html("<title>"+r.URL.Path+"</title><a href='in/'>in</a>"))
				return err == nil
			})})
		},
		seeds:   []string{"http://sessions.test/", "http://matrix.test/", "http://filters.test/", "http://paths.test/", "http://loops.test/"},
		options: func(o *node.Options) { o.PagesPerSite = 40 },
		explains: map[string]string{
			"http://sessions.test/": "", "http://sessions.test/shop?PHPSESSID=ffffffffffffffffffffffffffffffff": "guard: site-full",
			"http://matrix.test/shop;jsessionid=FFFFFFFF?page=1": "guard: site-full",
			"http://filters.test/?color=99&size=1&sort=1":        "guard: site-full",
			"http://paths.test/x99/y1/z1":                        "guard: site-full",
			"http://loops.test/in/in/in/":                        "",
			"http://loops.test/in/in/in/in/":                     "guard: repeating-segments",
		},
	}.run(t)
}

// A soft 404 leads on to more of the same.
func TestSoftNotFound(t *testing.T) {
	n := 0
	trial{
		evil: server{answer: each(func(out io.Writer, r *http.Request) bool {
			n++
			_, err := io.WriteString(out, html(fmt.Sprintf("<title>404 Not Found</title><h1>Not Found</h1><p>Try <a href=/try/%d>this</a>.", n)))
			return err == nil
		})},
		options:  func(o *node.Options) { o.PagesPerSite = 20 },
		explains: map[string]string{"/": "fetch: soft-error", "/try/1": "fetch: soft-error", "/try/99": "guard: site-full"},
	}.run(t)
}
