//go:build linux

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"freshet/internal/machines"
	"freshet/internal/sites"
	"freshet/weburl"
)

// web is the web that the nodes crawl. Each page changes by its own clock until the web is frozen. The web records
// every request.
type web struct {
	hosts   map[string]*host
	names   []string
	opened  time.Time
	perHost int // pages
	words   int // of a page
	latency time.Duration
	server  http.Server

	mu     sync.Mutex
	frozen time.Time // zero: not frozen
	log    []*exchange
}

// exchange is a request and its answer, as the web saw them.
type exchange struct {
	sites.Exchange
	node    int // number of the machine that made the request
	version int // of the page, in answers 200 and 304
}

type host struct {
	partition weburl.Partition
	links     []string // other hosts that its home leads to
	pages     []page
}

type page struct{ every, phase time.Duration }

const webPort = 8080

// newWeb makes a web with hostsOfEach hosts in each partition, and perHost pages on each host. Only the first host is
// a seed. Links from partition to partition lead to the others.
func newWeb(rng *rand.Rand, partitions, hostsOfEach, perHost int) *web {
	w := &web{hosts: map[string]*host{}, opened: real.Now(), perHost: perHost, words: 120, latency: 30 * time.Millisecond}
	room := make([]int, partitions)
	for i := 0; len(w.names) < partitions*hostsOfEach; i++ {
		name := fmt.Sprintf("h%d.test", i)
		p := weburl.PartitionOf(name, partitions)
		if room[p] == hostsOfEach {
			continue
		}
		room[p]++
		h := &host{partition: p}
		for range perHost {
			every := time.Duration(float64(20*time.Second) * math.Pow(30, rng.Float64()))
			h.pages = append(h.pages, page{every, time.Duration(rng.Int64N(int64(every)))})
		}
		if n := len(w.names); n > 0 {
			parent := w.hosts[w.names[(n-1)/6]]
			parent.links = append(parent.links, name)
		}
		w.hosts[name] = h
		w.names = append(w.names, name)
	}
	return w
}

func (w *web) serve() error {
	l, err := net.Listen("tcp", net.JoinHostPort(machines.Address(machines.Self), strconv.Itoa(webPort)))
	if err != nil {
		return err
	}
	w.server = http.Server{Handler: w, ReadHeaderTimeout: time.Minute}
	go func() { _ = w.server.Serve(l) }()
	return nil
}

func (w *web) close() { _ = w.server.Close() }

// freeze stops all change.
func (w *web) freeze() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frozen = real.Now()
	return w.frozen
}

// exchanges returns a copy of the recorded exchanges.
func (w *web) exchanges() []exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]exchange, len(w.log))
	for i, e := range w.log {
		all[i] = *e
	}
	return all
}

// ServeHTTP implements http.Handler.
func (w *web) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	e := &exchange{Exchange: sites.Exchange{Host: r.Host, Target: r.URL.Path, Start: real.Now()}}
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	e.node, _ = strconv.Atoi(address[strings.LastIndexByte(address, '.')+1:])
	w.mu.Lock()
	w.log = append(w.log, e)
	now := real.Now()
	if !w.frozen.IsZero() {
		now = w.frozen
	}
	w.mu.Unlock()
	done := func(status int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		e.Status = status
	}
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		e.End, e.Cut = real.Now(), r.Context().Err() != nil
	}()
	sleep(w.latency)
	h, number := w.hosts[r.Host], pageNumber(r.URL.Path)
	if h == nil || number < 0 || number >= len(h.pages) {
		done(http.StatusNotFound)
		http.NotFound(out, r)
		return
	}
	p := h.pages[number]
	version := 1 + int((now.Sub(w.opened)+p.phase)/p.every)
	w.mu.Lock()
	e.version = version
	w.mu.Unlock()
	tag := fmt.Sprintf(`"%d"`, version)
	out.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		done(http.StatusNotModified)
		out.WriteHeader(http.StatusNotModified)
		return
	}
	done(http.StatusOK)
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = out.Write(h.text(r.Host, number, version, w.words))
}

// text returns a version of a page. Pages are a tree, and the home leads to other hosts too.
func (h *host) text(name string, number, version, length int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><title>%s</title>\n<p>%s%d\n<p>", title(name, number), versionMark, version)
	words := rand.New(rand.NewPCG(uint64(version), uint64(number)))
	for range length {
		fmt.Fprintf(&b, "word%d ", words.IntN(5000))
	}
	for child := 2*number + 1; child <= 2*number+2 && child < len(h.pages); child++ {
		fmt.Fprintf(&b, "\n<a href=%q>page %d</a>", pagePath(child), child)
	}
	if number == 0 {
		for _, other := range h.links {
			fmt.Fprintf(&b, "\n<a href=\"http://%s/\">%s</a>", other, other)
		}
	}
	return []byte(b.String())
}

// title returns a text that no other page has.
func title(host string, number int) string { return fmt.Sprintf("page %d of %s", number, host) }

const versionMark = "this is version "

// versionIn returns the version that a body has, or 0 if it has none.
func versionIn(body []byte) int {
	_, rest, found := strings.Cut(string(body), versionMark)
	text, _, ended := strings.Cut(rest, "\n")
	if version, err := strconv.Atoi(text); err == nil && found && ended {
		return version
	}
	return 0
}

func pagePath(number int) string {
	if number == 0 {
		return "/"
	}
	return fmt.Sprintf("/p/%d.html", number)
}

func pageNumber(path string) int {
	if path == "/" {
		return 0
	}
	number, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(path, "/p/"), ".html"))
	if err != nil || path != pagePath(number) {
		return -1
	}
	return number
}
