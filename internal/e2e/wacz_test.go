package e2e

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"freshet/clock"
	"freshet/internal/sites"
)

const player = "internal/oracle/node_modules/replaywebpage@2.4.6"

// TestWACZ exports a crawl of a real site and checks that the file matches its own description. It opens the file with
// ReplayWeb.page in a browser: a page has its title and its styles.
func TestWACZ(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: make setup installs it")
	}
	if _, err := os.Stat(filepath.Join(repository, player, "ui.js")); err != nil {
		t.Fatal("ReplayWeb.page is not installed: run make setup")
	}
	manual := install(t, "libglib2.0-doc")[0]
	site := sites.Site{Name: "gobject", Root: filepath.Join(manual.Root, "gobject"), Home: "/index.html"}
	servers := serve(t, 72, new(sites.Log), sites.Options{}, site)
	data, folder := filepath.Join(t.TempDir(), "data"), t.TempDir()
	crawl(t, data, servers, "--delay", "0s")
	run(t, binary, "export", "--data", data, "--wacz", filepath.Join(folder, "site.wacz"))
	if pages := checkWACZ(t, filepath.Join(folder, "site.wacz")); pages < 50 {
		t.Errorf("%d pages are listed", pages)
	}

	mux := http.NewServeMux()
	mux.Handle("GET /site.wacz", http.FileServer(http.Dir(folder)))
	files := http.StripPrefix("/replay", http.FileServer(http.Dir(filepath.Join(repository, player))))
	mux.Handle("GET /replay/", files)
	mux.HandleFunc("GET /replay/sw.js", func(w http.ResponseWriter, r *http.Request) {
		_ = clock.Real().Sleep(r.Context(), 3*time.Second) // as on a busy machine
		files.ServeHTTP(w, r)
	})
	// The player reloads its frame three times until its service worker is active, and then stays empty. So the worker
	// comes before the player.
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><script src="/replay/ui.js"></script><style>html, body { height: 100%% }</style><body><script>
navigator.serviceWorker.register("/replay/sw.js?serveIndex=1", {scope: "/replay/"}).then(async registration => {
	const worker = registration.installing || registration.waiting || registration.active;
	while (worker.state != "activated") await new Promise(done => worker.addEventListener("statechange", done, {once: true}));
	document.body.innerHTML = '<replay-web-page source="/site.wacz" url="http://%s/index.html" replayBase="/replay/" embed="replayonly"></replay-web-page>';
})</script>`, site.Host())
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	tab := openTab(t, browser)
	// The page is in a frame of a frame, behind the shadow roots of the player.
	const look = `(() => {
	const documents = [], walk = root => {
		if (root.documentElement) documents.push(root);
		for (const e of root.querySelectorAll("*")) {
			if (e.shadowRoot) walk(e.shadowRoot);
			try { if (e.tagName == "IFRAME" && e.contentDocument) walk(e.contentDocument) } catch {}
		}
	};
	walk(document);
	return documents.filter(d => d.title.startsWith("GObject")).map(d => d.title + ": " + d.styleSheets.length + " sheets").join();
})()`
	if err := chromedp.Do(tab, chromedp.Navigate(server.URL)); err != nil {
		t.Fatal(err)
	}
	shown := ""
	for wait := 1200; shown == "" || strings.HasSuffix(shown, ": 0 sheets"); wait-- {
		if wait == 0 || clock.Real().Sleep(t.Context(), 100*time.Millisecond) != nil {
			t.Fatalf("the page is not shown, or without styles: %q", shown)
		}
		if shown, err = chromedp.Run(tab, chromedp.Evaluate[string](look)); err != nil {
			t.Fatal(err)
		}
	}
	t.Log(shown)
}

// checkWACZ holds the digests and sizes that a WACZ file tells of its parts, that WARC files are stored as they are,
// and returns the number of pages that are listed.
func checkWACZ(t *testing.T, name string) (pages int) {
	t.Helper()
	archive, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	parts := map[string][]byte{}
	for _, part := range archive.File {
		in, err := part.Open()
		if err != nil {
			t.Fatal(err)
		}
		if parts[part.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(part.Name, "archive/") != (part.Method == zip.Store) {
			t.Errorf("%s is packed by method %d", part.Name, part.Method)
		}
	}
	hashOf := func(part string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(parts[part])) }
	var about struct {
		Version   string `json:"wacz_version"`
		Resources []struct {
			Path, Hash string
			Bytes      int
		}
	}
	var digest struct{ Path, Hash string }
	if err := json.Unmarshal(parts["datapackage.json"], &about); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(parts["datapackage-digest.json"], &digest); err != nil || digest.Hash != hashOf(digest.Path) {
		t.Errorf("the digest of %q is %s, told is %s: %v", digest.Path, hashOf(digest.Path), digest.Hash, err)
	}
	if about.Version != "1.1.1" || len(about.Resources) != len(parts)-2 {
		t.Errorf("it is of version %q and tells of %d parts, of %d", about.Version, len(about.Resources), len(parts))
	}
	for _, part := range about.Resources {
		if part.Hash != hashOf(part.Path) || part.Bytes != len(parts[part.Path]) {
			t.Errorf("%s has %d bytes and the digest %s: told is %+v", part.Path, len(parts[part.Path]), hashOf(part.Path), part)
		}
	}
	return bytes.Count(parts["pages/pages.jsonl"], []byte("\n")) - 1
}
