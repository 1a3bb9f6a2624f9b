package honesty

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/node"
	"freshet/sim/discovery"
	"freshet/weburl"
)

// Host returns the name of a site, in the order of the sites' numbers.
func Host(site uint32) string { return fmt.Sprintf("%09d.test", site) }

// URL returns the URL of a page.
func URL(web discovery.Web, page uint32) (weburl.URL, error) {
	return weburl.Parse(fmt.Sprintf("http://%s/page/%d", Host(web.SiteOf(page)), page))
}

// Homes returns the URLs that a crawl of a web starts from.
func Homes(web discovery.Web) (homes []weburl.URL, err error) {
	for site := range uint32(web.Sites()) {
		home, ok := web.Home(site)
		if !ok {
			continue
		}
		u, err := URL(web, home)
		if err != nil {
			return nil, err
		}
		homes = append(homes, u)
	}
	return homes, nil
}

// PageOf returns the page at a path; ok is false for any other, such as robots.txt.
func PageOf(path string) (page uint32, ok bool) {
	_, err := fmt.Sscanf(path, "/page/%d", &page)
	return page, err == nil
}

// A Leaky web has pages with links that leave it.
type Leaky interface {
	discovery.Web
	Leaving(page uint32) int // how many links of a page do
}

// HTML returns the text of a page: its links, in order, and those that leave the web, if it is a Leaky one.
func HTML(web discovery.Web, page uint32) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<title>Page %d</title>", page)
	for _, to := range web.AppendLinks(nil, page) {
		fmt.Fprintf(&b, `<a href="http://%s/page/%d">%[2]d</a>`, Host(web.SiteOf(to)), to)
	}
	if leaky, ok := web.(Leaky); ok {
		for i := range leaky.Leaving(page) {
			fmt.Fprintf(&b, `<a href="http://elsewhere.test/%d">%[1]d</a>`, i)
		}
	}
	return b.String()
}

// Took returns how long a server takes for that many bytes.
func Took(s discovery.Server, bytes float64) time.Duration {
	seconds := s.Latency
	if s.Rate > 0 {
		seconds += bytes / s.Rate
	}
	return time.Duration(math.Round(seconds * 1e9))
}

// Servers serve a web on loopback. Answers take as long as the web's latencies, rates and sizes say. Their text is
// only links.
type Servers struct {
	web     discovery.Web
	clock   *clock.Clock
	servers []*http.Server
	serving sync.WaitGroup
	resolve map[string]netip.AddrPort

	mu  sync.Mutex
	log []served
}

// served is a request as its server saw it.
type served struct {
	page       uint32
	robots     bool
	start, end time.Time
}

// Serve serves each site of the web at 127.net.x.y, until Close.
func Serve(web discovery.Web, network byte) (*Servers, error) {
	s := &Servers{web: web, clock: clock.Real(), resolve: map[string]netip.AddrPort{}}
	for site := range uint32(web.Sites()) {
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.%d.%d.%d:0", network, site/250, 1+site%250))
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		server := &http.Server{Handler: s.handler(site)}
		s.serving.Go(func() { _ = server.Serve(listener) })
		s.servers = append(s.servers, server)
		s.resolve[Host(site)] = netip.MustParseAddrPort(listener.Addr().String())
	}
	return s, nil
}

// Close stops the servers and waits for them.
func (s *Servers) Close() error {
	var faults []error
	for _, server := range s.servers {
		faults = append(faults, server.Close())
	}
	s.serving.Wait()
	return errors.Join(faults...)
}

func (s *Servers) handler(site uint32) http.Handler {
	speed := s.web.Server(site)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := s.clock.Now()
		page, ok := PageOf(r.URL.Path)
		size := float64(discovery.RobotsBytes)
		if ok {
			size = s.web.Bytes(page)
		}
		if s.clock.Sleep(r.Context(), Took(speed, size)) != nil {
			return
		}
		s.mu.Lock()
		s.log = append(s.log, served{page, !ok, start, s.clock.Now()})
		s.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(HTML(s.web, page)))
	})
}

// Crawl crawls the web with the engine, in an empty data directory.
func (t Trial) Crawl(ctx context.Context, s *Servers, fs vfs.FS, dir string) (Story, error) {
	homes, err := Homes(s.web)
	if err != nil {
		return Story{}, err
	}
	engine, err := node.Open(node.Options{
		Dir: dir, FS: fs, Seeds: homes, Resolve: s.resolve, AllowPrivate: true, UserAgent: "freshet-test",
		Order: t.Order, Connections: t.Connections, Delay: t.Delay, MaxPages: int64(t.MaxPages),
	})
	if err != nil {
		return Story{}, err
	}
	_, err = engine.Run(ctx, ctx)
	if err := errors.Join(err, engine.Close()); err != nil {
		return Story{}, err
	}
	return s.story(), nil
}

// story returns the requests to the servers since the last call.
func (s *Servers) story() (story Story) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.log) == 0 {
		return story
	}
	first := s.log[0].start
	for _, r := range s.log {
		if r.start.Before(first) {
			first = r.start
		}
	}
	for _, r := range s.log {
		start, end := r.start.Sub(first).Seconds(), r.end.Sub(first).Seconds()
		story.Busy += end - start
		story.Duration = max(story.Duration, end)
		if !r.robots {
			story.Requests = append(story.Requests, Request{r.page, start, end})
		}
	}
	story.sort()
	s.log = nil
	return story
}
