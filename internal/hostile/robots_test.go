package hostile

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"freshet/node"
)

// withRobots answers robots.txt as robots does, and every other path with a page that links to
// /public and /secret.
func withRobots(robots answer) answer {
	return func(out io.Writer, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/robots") {
			return robots(out, r)
		}
		_, err := io.WriteString(out, html("<title>"+r.URL.Path+"</title><a href=/public>public</a> <a href=/secret>secret</a>"))
		return err == nil
	}
}

// says answers always the same.
func says(text string) answer {
	return func(out io.Writer, _ *http.Request) bool {
		_, err := io.WriteString(out, text)
		return err == nil
	}
}

// A gigabyte of robots.txt is read as far as 512 KiB, and obeyed as far as that.
func TestRobotsOfAGigabyte(t *testing.T) {
	trial{
		evil: server{answer: withRobots(func(out io.Writer, _ *http.Request) bool {
			return endless(out, "HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\nUser-agent: *\nDisallow: /secret\n", strings.Repeat("Disallow: /nothing\n", 4000))
		})},
		explains: map[string]string{"/": "", "/public": "", "/secret": "robots: robots"},
	}.run(t)
}

func TestRobotsAnswers(t *testing.T) {
	closed := map[string]answer{
		"error.test":     says(status(http.StatusInternalServerError)),
		"busy.test":      says(status(http.StatusServiceUnavailable)),
		"many.test":      says(status(http.StatusTooManyRequests)),
		"malformed.test": func(out io.Writer, r *http.Request) bool { says("<html>no HTTP at all</html>")(out, r); return false },
		"hangsup.test":   func(io.Writer, *http.Request) bool { return false },
		"bomb.test":      says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnone"),
	}
	open := map[string]answer{
		"missing.test":   says(status(http.StatusNotFound)),
		"forbidden.test": says(status(http.StatusForbidden)),
		"page.test":      says(html("<title>Welcome</title>Disallow: nothing<p>User-agent: everybody<p>Welcome!")),
		"self.test":      says(status(http.StatusFound, "Location: /robots.txt")),
		"image.test":     says(page("image/gif", "GIF89a\x01\x00\x01\x00\x00")),
		"ring.test": func(out io.Writer, r *http.Request) bool {
			next := map[string]string{"/robots.txt": "/robots/a", "/robots/a": "/robots/b", "/robots/b": "/robots.txt"}[r.URL.Path]
			return says(status(http.StatusMovedPermanently, "Location: "+next))(out, r)
		},
		// Two hosts send each other's visitors round.
		"here.test":  says(status(http.StatusFound, "Location: http://there.test/robots.txt")),
		"there.test": says(status(http.StatusFound, "Location: http://here.test/robots.txt")),
	}
	seeds, explains := []string{}, map[string]string{}
	add := func(n *network, answers map[string]answer) {
		for host, robots := range answers {
			n.host(host, server{answer: withRobots(robots)})
		}
	}
	for host := range closed {
		seeds = append(seeds, "http://"+host+"/")
		explains["http://"+host+"/"] = "robots: robots-unreachable"
	}
	for host := range open {
		seeds = append(seeds, "http://"+host+"/")
		explains["http://"+host+"/"], explains["http://"+host+"/secret"] = "", ""
	}
	trial{
		hosts: func(n *network) { add(n, closed); add(n, open) },
		seeds: seeds, explains: explains,
		options: func(o *node.Options) { o.Connections = 64 },
	}.run(t)
}
