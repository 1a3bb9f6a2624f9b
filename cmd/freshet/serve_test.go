package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"html"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"freshet/cmd/freshet/command"
)

// awaitLine reads the output of a process until a line contains these words.
func (p *process) awaitLine(words string) string {
	p.t.Helper()
	for p.said.Scan() {
		switch text := p.said.Text(); {
		case strings.Contains(text, words):
			return text
		case strings.Contains(text, "not reloaded"):
			p.t.Fatal(text)
		}
	}
	p.t.Fatalf("ended without saying %q", words)
	return ""
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestServeSaysWhyNothingIsStored has all seeds of a daemon refused. It says so once, with cause and remedy, on its
// standard error, in its window and to freshet status.
func TestServeSaysWhyNothingIsStored(t *testing.T) {
	web := httptest.NewServer(smallWeb())
	t.Cleanup(web.Close)
	for name, test := range map[string]struct{ settings, seed, want string }{
		"an address of its own": {"", "http://site.test/", "site.test (127.0.0.1) is a loopback address: add --allow-private if you mean to crawl it"},
		"robots.txt": {"allow-private: true\n", "http://forbids.test/", "robots.txt of http://forbids.test forbids all pages to this crawler: " +
			"ask its owner for access, or for a name to use as --user-agent"},
		"the rules":     {"allow-private: true\nopt-out: opted-out\n", "http://site.test/", "http://site.test/ is outside of the crawl (opt-out): see --scope, --opt-out and the limits"},
		"there is none": {"", "", "there is no seed: give URLs with freshet add, or a file with --seeds"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, address := t.TempDir(), freeAddress(t, "127.0.0.1")
			config := filepath.Join(dir, "freshet.yaml")
			put(t, filepath.Join(dir, "seeds"), test.seed+"\n")
			put(t, filepath.Join(dir, "opted-out"), "site.test\n")
			put(t, config, strings.NewReplacer("seeds: ", "seeds: "+dir+"/", "opt-out: ", "opt-out: "+dir+"/").Replace(fmt.Sprintf(
				"seeds: seeds\n%sresolve: [site.test=%s, forbids.test=%[2]s]\ndelay: 0s\nretries: 0\nlisten: %[3]s\ncontact: mailto:a@b.test\n",
				test.settings, strings.TrimPrefix(web.URL, "http://"), address)))
			p := start(t, "serve", "--config", config, "--data", filepath.Join(dir, "data"))
			if said := p.awaitLine("nothing is stored yet"); said != "freshet: nothing is stored yet: "+test.want {
				t.Errorf("%s, want %q", said, test.want)
			}
			cause, remedy, _ := strings.Cut(test.want, ": ")
			response, err := http.Get("http://" + address + "/")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			window, err := io.ReadAll(response.Body)
			if text := html.UnescapeString(string(window)); err != nil || test.seed != "" && !strings.Contains(text, "Nothing has been stored yet: "+cause) {
				t.Errorf("%v: the window does not say that %s:\n%s", err, cause, text)
			}
			if status, _ := freshet(t, 0, "status", "--data", filepath.Join(dir, "data")); test.seed != "" && !strings.Contains(status, remedy) {
				t.Errorf("no %q in the status:\n%s", remedy, status)
			}
			if err := p.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			for p.said.Scan() {
				if strings.Contains(p.said.Text(), "nothing is stored yet") {
					t.Errorf("said again: %s", p.said.Text())
				}
			}
			p.end()
		})
	}
}

// TestServe runs a daemon: it tells the service manager, waits for work when it has none, is steered,
// reloads, refuses a bad file whole, and ends at SIGTERM.
func TestServe(t *testing.T) {
	web := httptest.NewServer(smallWeb())
	t.Cleanup(web.Close)
	dir := t.TempDir()
	data, config, seeds, rules := filepath.Join(dir, "data"), filepath.Join(dir, "freshet.yaml"), filepath.Join(dir, "seeds.txt"), filepath.Join(dir, "rules.yaml")
	settings := fmt.Sprintf("data: %s\nseeds: %s\nscope: %s\nresolve: site.test=%s\nallow-private: true\ndelay: 0s\nretries: 0\nlisten: \"\"\ncontact: mailto:a@b.test\n",
		data, seeds, rules, strings.TrimPrefix(web.URL, "http://"))
	put(t, config, settings)
	put(t, seeds, "")
	put(t, rules, "seeds: page\n")

	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { manager.Close() })
	t.Setenv("NOTIFY_SOCKET", filepath.Join(dir, "notify"))
	p := start(t, "serve", "--config", config)
	p.awaitLine("serving")
	state := make([]byte, 100)
	if n, err := manager.Read(state); err != nil || string(state[:n]) != "READY=1" {
		t.Errorf("the manager is told %q, %v", state[:n], err)
	}
	steer := func(code int, args ...string) string {
		t.Helper()
		out, said := freshet(t, code, append(args, "--config", config)...)
		return out + said
	}
	if out := steer(0, "add", "http://site.test/"); out != "add: 1 page\n" {
		t.Errorf("add says %q", out)
	}
	awaitPages(t, config, 1)

	put(t, rules, "seeds: page\ninclude: '~[ab].html$'\n")
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.awaitLine("freshet: reloaded: + include ~[ab].html$")
	if out := steer(0, "recrawl", "http://site.test/"); out != "recrawl: 1 page\n" {
		t.Errorf("recrawl says %q", out)
	}
	awaitPages(t, config, 3)

	put(t, rules, "seeds: page\nexlude: a.test\n")
	if out := steer(2, "reload"); !strings.Contains(out, `rules.yaml:2: unknown key "exlude" (did you mean "exclude"?)`) {
		t.Errorf("a bad file: %q", out)
	}
	put(t, rules, "seeds: page\n")
	put(t, config, settings+"max-depth: 7\nconnections: 3\nbandwidth: 2MiB\n")
	out := steer(0, "reload")
	for _, line := range []string{"max-depth: 0 → 7\n", "bandwidth:  → 2MiB\n", "connections: 256 → 3 (from the next start on)\n", "- include ~[ab].html$\n"} {
		if !strings.Contains(out, line) {
			t.Errorf("reload says %q, not %q", out, line)
		}
	}
	if out := steer(0, "reload"); out != "reload: nothing has changed\n" {
		t.Errorf("a second reload says %q", out)
	}
	steer(0, "pause")
	if out := steer(0, "status"); !strings.Contains(out, "paused") {
		t.Errorf("status of what is paused: %q", out)
	}
	p.signal(syscall.SIGTERM, "finishing")
	if code := p.end(); code != command.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if out := steer(0, "status"); !strings.Contains(out, "paused since") {
		t.Errorf("the pause is gone: %q", out)
	}
}

// awaitPages waits until this number of pages is stored.
func awaitPages(t *testing.T, config string, n int) {
	t.Helper()
	for range 200 {
		if out, _ := freshet(t, 0, "pages", "--config", config, "--state", "live"); strings.Count(out, "\n") == n {
			return
		}
	}
	t.Fatalf("never %d pages", n)
}

// certificate writes a certificate for 127.0.0.1 and hosts, and its key, and returns a client that trusts it.
func certificate(t *testing.T, cert, key string, hosts ...string) *http.Client {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0), DNSNames: hosts, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err1 := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	secret, err2 := x509.MarshalPKCS8PrivateKey(private)
	parsed, err3 := x509.ParseCertificate(der)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	put(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	put(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// freeAddress returns an address on which nobody listens.
func freeAddress(t *testing.T, host string) string {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return net.JoinHostPort(host, port)
}

// TestListenBeyondLoopback holds that it needs a token, and TLS or --plain-http, and answers nobody without the token.
func TestListenBeyondLoopback(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	client := certificate(t, file("cert.pem"), file("key.pem"))
	put(t, file("token"), "a token of some length\n")
	put(t, file("short"), "short\n")
	address := freeAddress(t, "0.0.0.0")
	put(t, file("freshet.yaml"), fmt.Sprintf("data: %s\nlisten: %s\ncontact: mailto:a@b.test\n", file("data"), address))
	whole := []string{"serve", "--config", file("freshet.yaml"), "--token-file", file("token"), "--tls-cert", file("cert.pem"), "--tls-key", file("key.pem")}
	for _, args := range [][]string{whole[:3], whole[:5], append(whole[:3:3], whole[5:]...), append(whole[:3:3], "--token-file", file("short"), "--tls-cert", file("cert.pem"), "--tls-key", file("key.pem"))} {
		freshet(t, command.ExitUsage, args...)
	}
	p := start(t, whole...)
	p.awaitLine("serving")
	_, port, _ := net.SplitHostPort(address)
	ask := func(token, path string) (code int, body string) {
		request, err := http.NewRequest(http.MethodGet, "https://127.0.0.1:"+port+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", token)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(text)
	}
	for path, inside := range map[string]string{"/api/v1/status": "state", "/.well-known/resourcesync": "https://127.0.0.1:" + port + "/resourcesync/capabilities.xml"} {
		for token, want := range map[string]int{"": 401, "Bearer wrong": 401, "Basic a token of some length": 401, "Bearer a token of some length": 200} {
			if code, body := ask(token, path); code != want || strings.Contains(body, inside) != (want == 200) {
				t.Errorf("%s, token %q: %d %s", path, token, code, body)
			}
		}
	}
	p.signal(syscall.SIGTERM, "finishing")
	p.end()

	freshet(t, command.ExitUsage, append(whole, "--plain-http")...)
	p = start(t, append(whole[:5:5], "--plain-http")...)
	p.awaitLine("serving http://localhost:" + port + "/")
	answer, err := http.Get("http://127.0.0.1:" + port + "/api/v1/status")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("without TLS and without the token: %d", answer.StatusCode)
	}
	p.signal(syscall.SIGTERM, "finishing")
	p.end()
}
