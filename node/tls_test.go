package node

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/weburl"
)

// BenchmarkCrawlTLS crawls 5,000 pages of 20 KB on 20 hosts over TLS, on a real disk. In one run the servers keep
// connections. In another they close them after every answer, so that each page resumes a session. In the third they
// resume none. It reports pages a second, the processor time a page with the servers' share, connections a page, and
// the share of them that resumed a session.
func BenchmarkCrawlTLS(b *testing.B) {
	for _, servers := range []struct {
		name          string
		keep, tickets bool
	}{{"kept", true, true}, {"resumed", false, true}, {"full", false, false}} {
		b.Run("connections="+servers.name, func(b *testing.B) {
			web := newSecureWeb(b, servers.keep, servers.tickets)
			var pages int64
			before := clock.Processor()
			for b.Loop() {
				pages += web.crawl(b)
			}
			b.ReportMetric(float64(pages)/b.Elapsed().Seconds(), "pages/s")
			b.ReportMetric(float64((clock.Processor()-before).Microseconds())/float64(pages), "cpu-µs/page")
			b.ReportMetric(float64(web.opened.Load())/float64(pages), "connections/page")
			b.ReportMetric(float64(web.resumed.Load())/float64(web.opened.Load()), "resumed/connection")
		})
	}
}

// secureWeb is a web of hosts h0.example.com … that speak TLS.
type secureWeb struct {
	server          *httptest.Server
	opened, resumed atomic.Int64 // handshakes
}

const secureHosts, securePages = 20, 250

func newSecureWeb(b *testing.B, keep, tickets bool) *secureWeb {
	w := &secureWeb{}
	text := strings.Repeat("<p>The river rose again, and nobody in the valley was surprised by what it left behind.</p>\n", 180)
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		var page int
		if _, err := fmt.Sscanf(r.URL.Path, "/p/%d.html", &page); r.URL.Path != "/" && (err != nil || page >= securePages) {
			http.NotFound(out, r)
			return
		}
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(out, "<!doctype html><title>Page %d of %s</title>\n", page, r.Host)
		for i := range 40 {
			fmt.Fprintf(out, "<a href=\"/p/%d.html\">%d</a>\n", (page*7+i)%securePages, i)
		}
		io.WriteString(out, text)
	}))
	w.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	w.server.Config.SetKeepAlivesEnabled(keep)
	w.server.TLS = &tls.Config{SessionTicketsDisabled: !tickets, VerifyConnection: func(state tls.ConnectionState) error {
		w.opened.Add(1)
		if state.DidResume {
			w.resumed.Add(1)
		}
		return nil
	}}
	w.server.StartTLS()
	b.Cleanup(w.server.Close)
	return w
}

// crawl crawls the whole web into an empty directory and returns the pages stored.
func (w *secureWeb) crawl(b *testing.B) int64 {
	dir, err := os.MkdirTemp(b.TempDir(), "crawl")
	if err != nil {
		b.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(w.server.Certificate())
	o := Options{Dir: dir, FS: vfs.Default, AllowPrivate: true, TLSConfig: &tls.Config{RootCAs: roots}, Resolve: map[string]netip.AddrPort{}}
	for host := range secureHosts {
		name := fmt.Sprintf("h%d.example.com", host)
		o.Resolve[name] = addressOfServer(w.server)
		seed, err := weburl.Parse("https://" + name + "/")
		if err != nil {
			b.Fatal(err)
		}
		o.Seeds = append(o.Seeds, seed)
	}
	e, err := Open(o)
	if err != nil {
		b.Fatal(err)
	}
	summary, err := e.Run(b.Context(), b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	if want := int64(secureHosts * (securePages + 1)); summary.Pages != want {
		b.Fatalf("%d pages stored, want %d", summary.Pages, want)
	}
	return summary.Pages
}
