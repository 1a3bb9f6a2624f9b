package e2e

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	protocol "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"freshet/clock"
	"freshet/internal/sites"
)

// TestReplayLooksAsSites compares pictures of random pages of three real sites with pictures of their replay. Without
// scripts a picture shows the whole page; with scripts it shows a window. All pixels must be equal. Pages are exempt
// if their scripts load files that only the scripts name: the crawl does not store those. FRESHET_LOOKS is the number
// of pages, 15 by default.
func TestReplayLooksAsSites(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: make setup installs it")
	}
	installed := install(t, "python3.11-doc", "libglib2.0-doc", "sqlite3-doc")
	servers := serve(t, 73, new(sites.Log), sites.Options{}, installed...)
	data := filepath.Join(t.TempDir(), "data")
	crawl(t, data, servers, "--delay", "0s")
	draw := 15
	if text := os.Getenv("FRESHET_LOOKS"); text != "" {
		if draw, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	table := pages(t, data)
	drawn := drawPages(table, installed, draw)
	window, frame := openWindow(t, data), serveFrame(t)

	var hosts []string
	for _, s := range servers {
		hosts = append(hosts, "MAP "+s.Site().Host()+" "+s.Address())
	}
	resolve := chromedp.Flag("host-resolver-rules", strings.Join(hosts, ", "))
	steady := chromedp.Flag("disable-partial-raster", true) // else the order of what arrives shows in some pixels
	plain := openTab(t, browser, resolve, steady, chromedp.Flag("blink-settings", "scriptEnabled=false"))
	scripted := openTab(t, browser, resolve, steady)
	differ, loads := 0, 0
	for i, url := range drawn {
		for _, view := range []struct {
			name, live, replayed string
			tab                  context.Context
			picture              chromedp.Action[[]byte]
		}{
			{"plain", url, window + "/web/" + url, plain, wholePage},
			{"scripted", frame + "?" + url, window + "/web/2999sc_/" + url, scripted, chromedp.CaptureScreenshot()},
		} {
			live, replayed := look(view.tab, t, view.live, view.picture), look(view.tab, t, view.replayed, view.picture)
			if bytes.Equal(live, replayed) {
				continue
			}
			if lacks := unnamed(scripted, t, url, table); view.tab == scripted && len(lacks) > 0 {
				loads++
				t.Logf("%s: only its scripts name %q", url, lacks)
				continue
			}
			differ++
			t.Errorf("%s, %s: the pictures differ", url, view.name)
			for name, picture := range map[string][]byte{"live": live, "replayed": replayed} {
				file := filepath.Join(t.ArtifactDir(), fmt.Sprintf("%d-%s-%s.png", i, view.name, name))
				if err := os.WriteFile(file, picture, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Logf("%d pages, each compared without and with scripts: %d pairs of pictures differ; scripts of %d pages load what only they name",
		len(drawn), differ, loads)
}

// unnamed returns the files that a page loads at its site and that the store lacks.
func unnamed(tab context.Context, t *testing.T, url string, table map[string]page) (lacks []string) {
	t.Helper()
	look(tab, t, url, chromedp.CaptureScreenshot())
	loaded, err := chromedp.Run(tab, chromedp.Evaluate[[]string](
		`performance.getEntriesByType("resource").filter(e => e.responseStatus >= 200 && e.responseStatus < 400).map(e => e.name)`))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range loaded {
		if table[name].Version == 0 {
			lacks = append(lacks, name)
		}
	}
	return lacks
}

// serveFrame shows the page in its query as the window shows pages with scripts: in a frame. A browser smooths some
// letters differently in a frame than in a page of its own.
func serveFrame(t *testing.T) (origin string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `<!doctype html><style>html,body{height:100%%;margin:0}iframe{border:0;width:100%%;height:100%%;display:block}</style>
<iframe src="%s"></iframe>`, html.EscapeString(r.URL.RawQuery))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// drawPages returns that many HTML pages that are stored, as many of each site.
func drawPages(table map[string]page, of []sites.Site, n int) (drawn []string) {
	random := rand.New(rand.NewPCG(*seed, 0))
	for i, site := range of {
		var stored []string
		for _, url := range slices.Sorted(maps.Keys(table)) {
			if p := table[url]; p.Version > 0 && p.Site == "http://"+site.Host() && strings.HasSuffix(url, ".html") {
				stored = append(stored, url)
			}
		}
		random.Shuffle(len(stored), func(a, b int) { stored[a], stored[b] = stored[b], stored[a] })
		share := n*(i+1)/len(of) - n*i/len(of)
		drawn = append(drawn, stored[:min(share, len(stored))]...)
	}
	return drawn
}

// openWindow shows a data directory until the test ends, and returns where.
func openWindow(t *testing.T, data string) (origin string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	window := exec.Command(binary, "view", data, "--listen", address)
	if err := window.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = window.Process.Signal(os.Interrupt) // fails if it has ended
		_ = window.Wait()
	})
	await(t, "the window", func() bool {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return "http://" + address
}

// wholePage takes a picture of all of a page, as strips that are not too large for the browser.
func wholePage(ctx context.Context, t *chromedp.Target) (picture []byte, err error) {
	const width, height = 1000, 8000
	size, err := cdp.Call(ctx, t, protocol.GetLayoutMetrics, cdp.Empty{})
	if err != nil {
		return nil, err
	}
	for y := 0.0; y < size.CSSContentSize.Height; y += height {
		strip, err := cdp.Call(ctx, t, protocol.CaptureScreenshot, protocol.CaptureScreenshotParams{
			CaptureBeyondViewport: new(true),
			Clip:                  &protocol.Viewport{Y: y, Width: width, Height: min(height, size.CSSContentSize.Height-y), Scale: 1},
		})
		if err != nil {
			return nil, err
		}
		picture = append(picture, strip.Data...)
	}
	return picture, nil
}

// look returns the picture of a page, when its fonts have come and the picture no longer changes.
func look(tab context.Context, t *testing.T, address string, picture chromedp.Action[[]byte]) []byte {
	t.Helper()
	if err := chromedp.Do(tab, chromedp.EmulateViewport(1000, 700), chromedp.Navigate(address)); err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	var last []byte
	for range 20 {
		now, err := chromedp.Run(tab, picture)
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		if bytes.Equal(now, last) {
			return now
		}
		last = now
		_ = clock.Real().Sleep(t.Context(), 100*time.Millisecond)
	}
	t.Fatalf("%s: its picture goes on changing", address)
	return nil
}
