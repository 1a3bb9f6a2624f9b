package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"freshet/clock"
)

// TestMonth plays an operator's month against the demo web: a daemon is started, reloaded, told to block a
// host and to purge a page; it is snapshot while it runs, destroyed and restored; a directory of an older
// format is migrated and one of a newer is refused; what wget has fetched is imported, and what is exported
// is imported again with equal histories.
func TestMonth(t *testing.T) {
	dependOnSources(t)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	config := demoWeb(t, path("demo.yaml"))
	data := path("archive")
	settings := config + fmt.Sprintf("data: %s\nlisten: \"\"\ncontact: mailto:you@example.org\n", data)
	writeText(t, path("freshet.yaml"), settings)
	daemon := startDaemon(t, path("freshet.yaml"))
	freshet := func(args ...string) string { return string(run(t, binary, args...)) }
	live := awaitLive(t, data, 40)

	writeText(t, path("freshet.yaml"), settings+"max-depth: 9\n")
	if out := freshet("reload", "--data", data); !strings.Contains(out, "max-depth: 0 → 9") {
		t.Errorf("reload says %q", out)
	}
	freshet("block", "--data", data, hostOf(live[0]), "--until", "2199-01-01T00:00:00Z")
	freshet("pause", "--data", data)
	live = awaitLive(t, data, 40)
	victim, words := uniqueWords(t, data, live)
	freshet("purge", "--data", data, victim)
	freshet("snapshot", "--data", data, path("monday"))

	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Process.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	freshet("restore", "--data", data, path("monday"))
	freshet("verify", "--data", data)
	if out := freshet("pages", "--data", data, "--state", "purged"); !strings.Contains(out, victim) {
		t.Errorf("no tombstone of %s: %s", victim, out)
	}
	if out, err := try(t, binary, "cat", "--data", data, victim); err == nil {
		t.Errorf("what is purged is still there: %.100s", out)
	}
	searchFor(t, data, words)

	old := path("old")
	if err := os.CopyFS(old, os.DirFS(filepath.Join(repository, "store", "testdata", "format1"))); err != nil {
		t.Fatal(err)
	}
	freshet("migrate", "--data", old)
	freshet("verify", "--data", old)
	head := read(t, filepath.Join(old, "freshet.json"))
	newer := bytes.Replace(head, []byte(`"format":2`), []byte(`"format":99`), 1)
	if bytes.Equal(head, newer) {
		newer = bytes.Replace(head, []byte(`"format": 2`), []byte(`"format": 99`), 1)
	}
	writeText(t, filepath.Join(old, "freshet.json"), string(newer))
	for _, args := range [][]string{{"verify"}, {"migrate"}} {
		if out, err := try(t, binary, append(args, "--data", old)...); err == nil || !strings.Contains(err.Error(), "99") {
			t.Errorf("%s of a newer format: %v %s", args[0], err, out)
		}
	}

	freshet("export", "--data", data, "--warc", path("copies"))
	files, err := filepath.Glob(filepath.Join(path("copies"), "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	freshet(append([]string{"import", "--data", path("again")}, files...)...)
	for _, page := range live {
		if _, err := try(t, binary, "cat", "--data", data, page); err != nil {
			continue
		}
		if before, after := versionsOf(t, data, page), versionsOf(t, path("again"), page); before != after {
			t.Errorf("%s: %s before, %s after", page, before, after)
		}
	}
	importWget(t, dir)
}

// demoWeb serves the demo web until the test ends, and returns the settings for a crawl of it.
func demoWeb(t *testing.T, config string) string {
	t.Helper()
	web := exec.Command(binary, "demo", "--web-only", "--pages", "300", "--write-config", config)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = web.Process.Signal(syscall.SIGTERM)
		_ = web.Wait()
	})
	await(t, "the demo web", func() bool {
		_, err := os.Stat(config)
		return err == nil
	})
	return string(read(t, config))
}

// await looks, some hundred times, until something has come about.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 600 {
		if done() {
			return
		}
		if err := clock.Real().Sleep(t.Context(), 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("%s did not come about", what)
}

// awaitLive returns the live HTML pages of a crawl when there are n.
func awaitLive(t *testing.T, data string, n int) (urls []string) {
	t.Helper()
	await(t, fmt.Sprintf("%d live pages", n), func() bool {
		out, err := try(t, binary, "pages", "--data", data, "--state", "live", "--json")
		urls = urls[:0]
		for line := range bytes.Lines(out) {
			var p struct {
				URL  string `json:"url"`
				Type string `json:"content_type"`
			}
			if json.Unmarshal(line, &p) == nil && strings.HasPrefix(p.Type, "text/html") {
				urls = append(urls, p.URL)
			}
		}
		return err == nil && len(urls) >= n
	})
	return urls
}

func hostOf(url string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "http://"), "/")
	host, _, _ = strings.Cut(host, ":")
	return host
}

// uniqueWords returns a page, of those of which a body is kept, and words that are in its text and in no
// other's.
func uniqueWords(t *testing.T, data string, live []string) (url, words string) {
	t.Helper()
	texts := map[string]string{}
	for _, page := range live {
		if out, err := try(t, binary, "cat", "--data", data, page); err == nil {
			texts[page] = string(out)
		}
	}
	for _, page := range live {
		for part := range strings.FieldsFuncSeq(texts[page], func(r rune) bool { return r == '<' || r == '>' || r == '\n' }) {
			if len(part) < 60 || strings.ContainsAny(part, "=&") {
				continue
			}
			holders := 0
			for _, text := range texts {
				if strings.Contains(text, part) {
					holders++
				}
			}
			if holders == 1 {
				return page, part
			}
		}
	}
	t.Fatal("no page has words of its own")
	return "", ""
}

// searchFor looks for a text in every file of a folder, as it is and, where it is gzip, unpacked.
func searchFor(t *testing.T, dir, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content := read(t, name)
		if unzipped, err := gzip.NewReader(bytes.NewReader(content)); err == nil {
			var all bytes.Buffer
			_, _ = all.ReadFrom(unzipped) // as far as it goes
			content = append(content, all.Bytes()...)
		}
		if bytes.Contains(content, []byte(text)) {
			t.Errorf("%s holds what is purged: %.60q", name, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func writeText(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// versionsOf returns times and digests of a page's versions, to the millisecond, which is what WARC tells.
func versionsOf(t *testing.T, data, url string) string {
	t.Helper()
	var h struct {
		Versions []struct {
			Version int       `json:"version"`
			At      time.Time `json:"at"`
			Status  int       `json:"status"`
			Digest  string    `json:"digest"`
			Noise   bool      `json:"noise"`
		} `json:"versions"`
	}
	if err := json.Unmarshal(run(t, binary, "history", "--data", data, "--json", url), &h); err != nil {
		t.Fatal(err)
	}
	for i := range h.Versions {
		h.Versions[i].At = h.Versions[i].At.Truncate(time.Millisecond)
	}
	return fmt.Sprint(h.Versions)
}

// importWget has wget fetch a small site into a WARC file, and imports it.
func importWget(t *testing.T, dir string) {
	wget, err := exec.LookPath("wget")
	if err != nil {
		t.Log("no wget: its WARC file is not imported")
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `<title>Home</title><a href="/b">b</a>`) })
	mux.HandleFunc("/b", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `<title>B</title>wget was here`) })
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(listener) }() // ends with Close
	defer server.Close()
	site := "http://" + listener.Addr().String()
	run(t, wget, "--quiet", "--no-config", "--no-proxy", "--recursive", "--execute", "robots=off", "--directory-prefix", dir, "--warc-file", filepath.Join(dir, "wget"), site+"/")
	run(t, binary, "import", "--data", filepath.Join(dir, "wgot"), filepath.Join(dir, "wget.warc.gz"))
	if out := run(t, binary, "cat", "--data", filepath.Join(dir, "wgot"), site+"/b"); !bytes.Contains(out, []byte("wget was here")) {
		t.Errorf("wget's page: %s", out)
	}
	run(t, binary, "verify", "--data", filepath.Join(dir, "wgot"))
}
