package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"freshet/clock"
)

// monthRate is how many seconds of the month pass in one: a day takes 0.8 s, the month 24 s.
const monthRate = 108_000

// TestMonth plays an operator's month against the demo web, on a clock that makes it pass in half a minute. A daemon
// keeps a copy fresh all the time. The test reloads it, blocks a host for ten days, takes a page down and searches
// every file for it. It takes a snapshot through the running daemon, kills the daemon and destroys its directory. The
// daemon goes on in the restored directory until the month is over.
//
// On other days the test migrates a directory of an older format and imports a file of wget. A directory of a newer
// format is refused. At the end the test exports everything and imports it again, with equal histories.
func TestMonth(t *testing.T) {
	dependOnSources(t)
	m := newMonth(t)
	daemon := startDaemon(t, m.config)
	live := m.awaitLive(30)

	m.until(2)
	m.configure("max-depth: 9\n")
	if out := m.freshet("reload"); !strings.Contains(out, "max-depth: 0 → 9") {
		t.Errorf("reload says %q", out)
	}
	until := m.now().Add(10 * 24 * time.Hour).Truncate(time.Second)
	blocked := hostOf(live[0])
	m.freshet("block", blocked, "--until", until.UTC().Format(time.RFC3339))
	since := m.now()

	m.until(5)
	victim, words := m.uniqueWords(live)
	if len(filesWith(t, m.data, words)) == 0 {
		t.Fatalf("%s is stored, and in no file", victim)
	}
	m.freshet("purge", victim)
	await(t, "the end of the purge", func() bool { return len(filesWith(t, m.data, words)) == 0 })

	m.until(8)
	m.copied[0] = m.now()
	m.freshet("snapshot", m.path("monday"))
	m.copied[1] = m.now()
	m.until(10)
	if err := daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = daemon.Process.Wait() // its error says that it was killed
	if err := os.RemoveAll(m.data); err != nil {
		t.Fatal(err)
	}
	m.freshet("restore", m.path("monday"))
	m.freshet("verify")
	daemon = startDaemon(t, m.config)

	migrateAndRefuse(t, m.path("old"))
	importWget(t, m.path("wget"))

	m.until(30)
	await(t, "a visit to "+blocked+" after its block", func() bool { return len(m.visitsTo(blocked, until)) > 0 })
	stop(t, daemon)
	m.freshet("verify")
	// The clocks of the daemon and the test agree within some milliseconds of the machine's time. Those are minutes
	// here.
	const apart = monthRate * 50 * time.Millisecond
	if early := slices.DeleteFunc(m.visitsTo(blocked, since), until.Add(-apart).Before); len(early) > 0 {
		t.Errorf("%s was blocked from %v to %v, and asked at %v", blocked, since, until, early)
	}
	if out := m.freshet("pages", "--state", "purged"); !strings.Contains(out, victim) {
		t.Errorf("no tombstone of %s: %s", victim, out)
	}
	if out, err := try(t, binary, "cat", "--data", m.data, victim); err == nil {
		t.Errorf("what was purged has come back: %.100s", out)
	}
	if found := filesWith(t, m.data, words); len(found) > 0 {
		t.Errorf("what was purged is in %q", found)
	}
	if out := m.freshet("pages", "--changed-since", m.day(28).UTC().Format(time.RFC3339)); !strings.Contains(out, "http") {
		t.Error("in the last two days of the month no page has changed")
	}
	m.exportAndImport()
}

// month has a demo web with a fast clock, and the directory of a crawl of it.
type month struct {
	t                 *testing.T
	dir, data, config string
	settings          string       // of the crawl, as the config began
	start             time.Time    // of the clock and of the month
	copied            [2]time.Time // when the snapshot was begun and ended
}

func newMonth(t *testing.T) *month {
	t.Helper()
	m := &month{t: t, dir: t.TempDir()}
	m.data, m.config = m.path("archive"), m.path("freshet.yaml")
	m.settings = demoWeb(t, m.path("demo.yaml"), "--pages", "150", "--clock", strconv.Itoa(monthRate)) +
		fmt.Sprintf("data: %s\nlisten: \"\"\ncontact: mailto:you@example.org\nrefresh: true\nbudget: 150\nwarc-size: 256KiB\n", m.data)
	pace := regexp.MustCompile(`clock: "\d+@(.*)"`).FindStringSubmatch(m.settings)
	if pace == nil {
		t.Fatalf("no start of the clock in %s", m.settings)
	}
	var err error
	if m.start, err = time.Parse(time.RFC3339, pace[1]); err != nil {
		t.Fatal(err)
	}
	m.configure("")
	return m
}

// stop ends a daemon as a service manager does.
func stop(t *testing.T, daemon *exec.Cmd) {
	t.Helper()
	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = daemon.Process.Wait() // its exit code says that it was interrupted
}

func (m *month) path(name string) string { return filepath.Join(m.dir, name) }

// configure writes the daemon's settings.
func (m *month) configure(further string) { writeText(m.t, m.config, m.settings+further) }

// freshet runs a command on the month's directory.
func (m *month) freshet(args ...string) string {
	m.t.Helper()
	return string(run(m.t, binary, append(args, "--data", m.data)...))
}

// day returns when a day of the month begins.
func (m *month) day(n int) time.Time { return m.start.Add(time.Duration(n) * 24 * time.Hour) }

// now returns the time of the month's clock.
func (m *month) now() time.Time {
	return m.start.Add(monthRate * clock.Real().Now().Sub(m.start))
}

// until waits for a day of the month.
func (m *month) until(day int) {
	m.t.Helper()
	if err := clock.Real().Sleep(m.t.Context(), m.day(day).Sub(m.now())/monthRate); err != nil {
		m.t.Fatal(err)
	}
	m.t.Logf("day %.1f", m.now().Sub(m.start).Hours()/24)
}

// awaitLive returns the live HTML pages when there are n.
func (m *month) awaitLive(n int) (urls []string) {
	m.t.Helper()
	await(m.t, fmt.Sprintf("%d live pages", n), func() bool {
		out, err := try(m.t, binary, "pages", "--data", m.data, "--state", "live", "--json")
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

// uniqueWords returns one of the first pages and words that are in its text and in no other's.
func (m *month) uniqueWords(live []string) (url, words string) {
	m.t.Helper()
	texts := map[string]string{}
	for _, page := range live[:10] {
		if out, err := try(m.t, binary, "cat", "--data", m.data, page); err == nil {
			texts[page] = string(out)
		}
	}
	for _, page := range live[:10] {
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
	m.t.Fatal("no page has words of its own")
	return "", ""
}

// history is the history of a page by freshet history, as far as WARC files can tell it: times to the millisecond.
type history struct {
	Visits []struct {
		At                 time.Time
		Outcome, Truncated string
		Status, Version    int
		Changed, Noise     bool
	}
	Versions []struct {
		At              time.Time
		Version, Status int
		Digest          string
		Noise           bool
	}
}

func historyOf(t *testing.T, data, url string) (h history) {
	t.Helper()
	if err := json.Unmarshal(run(t, binary, "history", "--data", data, "--json", url), &h); err != nil {
		t.Fatal(err)
	}
	for i := range h.Visits {
		h.Visits[i].At = h.Visits[i].At.Truncate(time.Millisecond)
	}
	for i := range h.Versions {
		h.Versions[i].At = h.Versions[i].At.Truncate(time.Millisecond)
	}
	return h
}

// visitsTo returns when a page of a host was asked for after a moment.
func (m *month) visitsTo(host string, after time.Time) (visits []time.Time) {
	m.t.Helper()
	for line := range bytes.Lines(run(m.t, binary, "pages", "--data", m.data, "--json")) {
		var p struct {
			URL  string    `json:"url"`
			Last time.Time `json:"last_fetched"`
		}
		if err := json.Unmarshal(line, &p); err != nil {
			m.t.Fatal(err)
		}
		if hostOf(p.URL) != host || !p.Last.After(after) {
			continue
		}
		for _, v := range historyOf(m.t, m.data, p.URL).Visits {
			if v.At.After(after) {
				visits = append(visits, v.At)
			}
		}
	}
	return visits
}

// exportAndImport makes another directory from the exported WARC files. It must know the same about every page. The
// test compares the histories of some pages, versions and visits. It leaves out visits that nobody answered: they have
// no capture.
func (m *month) exportAndImport() {
	m.t.Helper()
	m.freshet("export", "--warc", m.path("copies"))
	files, err := filepath.Glob(m.path("copies/*.warc.gz"))
	if err != nil || len(files) < 3 {
		m.t.Fatal(files, err)
	}
	again := m.path("again")
	run(m.t, binary, append([]string{"import", "--data", again}, files...)...)
	run(m.t, binary, "verify", "--data", again)
	before, after := m.known(m.data), m.known(again)
	for url, page := range before {
		if after[url].Version == 0 && !m.captured(url) {
			delete(before, url) // its owner does not want it archived
			continue
		}
		if after[url] != page && m.ahead(again, url) {
			delete(before, url)
			continue
		}
		if after[url] != page {
			m.t.Errorf("%s: %v before, %v after", url, page, after[url])
		}
	}
	urls := slices.SortedFunc(maps.Keys(before), func(a, b string) int { return before[b].Version - before[a].Version })
	if len(urls) < 30 || before[urls[0]].Version < 5 {
		m.t.Fatalf("%d pages, of %d versions at most: too few for a month", len(urls), before[urls[0]].Version)
	}
	visits := 0
	for _, url := range urls[:30] {
		before, after := historyOf(m.t, m.data, url), historyOf(m.t, again, url)
		if fmt.Sprint(before.Versions) != fmt.Sprint(after.Versions) {
			m.t.Errorf("%s: versions %v before, %v after", url, before.Versions, after.Versions)
		}
		answered := before.Visits[:0]
		for _, v := range before.Visits {
			if v.Status != 0 {
				answered = append(answered, v)
			}
		}
		n := min(len(answered), len(after.Visits)) // the last 64 of either
		if n == 0 || fmt.Sprint(answered[len(answered)-n:]) != fmt.Sprint(after.Visits[len(after.Visits)-n:]) {
			m.t.Errorf("%s: visits %v before, %v after", url, answered, after.Visits)
		}
		visits += n
	}
	m.t.Logf("%d pages; %d visits of 30 of them are equal, of up to %d versions", len(urls), visits, before[urls[0]].Version)
}

// ahead reports whether the WARC files know of a visit that the database does not: a snapshot takes the
// database first, and files that the crawl has gone on writing to meanwhile.
func (m *month) ahead(again, url string) bool {
	stored := map[time.Time]bool{}
	for _, v := range historyOf(m.t, m.data, url).Visits {
		stored[v.At] = true
	}
	for _, v := range historyOf(m.t, again, url).Visits {
		if !stored[v.At] && v.At.After(m.copied[0].Add(-24*time.Hour)) && v.At.Before(m.copied[1]) {
			m.t.Logf("%s was visited at %v, while the snapshot was taken", url, v.At)
			return true
		}
	}
	return false
}

// captured reports whether the body of a page's last version is kept.
func (m *month) captured(url string) bool {
	_, err := try(m.t, binary, "cat", "--data", m.data, url)
	return err == nil
}

// stored is the part of a page that has a version.
type stored struct {
	State, Digest string
	Version       int
}

func (m *month) known(data string) map[string]stored {
	m.t.Helper()
	pages := map[string]stored{}
	for line := range bytes.Lines(run(m.t, binary, "pages", "--data", data, "--json")) {
		var p struct {
			URL string `json:"url"`
			stored
		}
		if err := json.Unmarshal(line, &p); err != nil {
			m.t.Fatal(err)
		}
		if p.Version > 0 {
			pages[p.URL] = p.stored
		}
	}
	return pages
}

// migrateAndRefuse migrates the directory that an older freshet left, and has one of a newer refused.
func migrateAndRefuse(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(repository, "store", "testdata", "format1"))); err != nil {
		t.Fatal(err)
	}
	if _, err := try(t, binary, "verify", "--data", dir); err == nil || !strings.Contains(err.Error(), "freshet migrate") {
		t.Errorf("verify of an older format: %v", err)
	}
	run(t, binary, "migrate", "--data", dir)
	run(t, binary, "verify", "--data", dir)
	head := filepath.Join(dir, "freshet.json")
	var format map[string]int
	if err := json.Unmarshal(read(t, head), &format); err != nil {
		t.Fatal(err)
	}
	format["format"] = 99
	newer, err := json.Marshal(format)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, head, string(newer))
	for _, command := range []string{"verify", "migrate", "snapshot", "pages"} {
		args := []string{command, "--data", dir}
		if command == "snapshot" {
			args = append(args, dir+"-copy")
		}
		if out, err := try(t, binary, args...); err == nil || !strings.Contains(err.Error(), "format 99") {
			t.Errorf("%s of a newer format: %v %s", command, err, out)
		}
	}
}

// demoWeb serves the demo web until the test ends. It returns the settings for a crawl of it.
func demoWeb(t *testing.T, config string, args ...string) string {
	t.Helper()
	web := exec.Command(binary, append([]string{"demo", "--web-only", "--write-config", config}, args...)...)
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

func hostOf(url string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "http://"), "/")
	host, _, _ = strings.Cut(host, ":")
	return host
}

func writeText(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// importWget imports a WARC file that an old wget wrote and, if the machine has wget, a new one.
func importWget(t *testing.T, dir string) {
	t.Helper()
	kept := filepath.Join(repository, "internal", "e2e", "testdata", "wget-1.21.warc.gz")
	checkWget(t, dir+"-kept", kept, "http://127.0.0.1:8000")
	wget, err := exec.LookPath("wget")
	if err != nil {
		t.Logf("no wget: only %s is imported", kept)
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
	run(t, wget, "--quiet", "--no-config", "--no-proxy", "--recursive", "--execute", "robots=off", "--directory-prefix", t.TempDir(), "--warc-file", dir, site+"/")
	checkWget(t, dir, dir+".warc.gz", site)
}

// checkWget imports such a file: its pages have their bodies, and links lead on from them.
func checkWget(t *testing.T, data, file, site string) {
	t.Helper()
	run(t, binary, "import", "--data", data, file)
	run(t, binary, "verify", "--data", data)
	if out := run(t, binary, "cat", "--data", data, site+"/b"); !bytes.Contains(out, []byte("wget was here")) {
		t.Errorf("wget's page: %s", out)
	}
	if h := historyOf(t, data, site+"/"); len(h.Visits) != 1 || len(h.Versions) != 1 || h.Visits[0].Status != 200 {
		t.Errorf("history of wget's page: %+v", h)
	}
}
