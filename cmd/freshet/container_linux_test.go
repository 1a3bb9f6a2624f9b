package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
)

// besideContainer is set in the environment of the part of TestContainer that has a network with a container.
const besideContainer = "FRESHET_TEST_CONTAINER"

// The addresses of that network.
const hostAddress, containerAddress = "172.17.0.1", "172.17.0.2"

// TestContainer does what the documented docker run does, without Docker: the image's files are all there is, its user
// runs its entry point in a network of its own, and the published port is passed on as Docker passes on a port of
// loopback. A browser on the machine signs in and sees the crawl.
func TestContainer(t *testing.T) {
	if os.Getenv(besideContainer) == "" {
		runAlone(t, besideContainer+"=yes")
		return
	}
	read := func(file, pattern string) []string {
		t.Helper()
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile("(?m)" + pattern).FindStringSubmatch(string(text))
		if found == nil {
			t.Fatalf("%s: no %s", file, pattern)
		}
		return found[1:]
	}
	documented := read("docs/how-to/access.md", `^docker run -p (\S+):(\d+) .* freshet (--.*)$`)
	published, port, arguments := documented[0], documented[1], strings.Fields(documented[2])
	var entry []string
	if err := json.Unmarshal([]byte(read("deploy/Dockerfile", `^ENTRYPOINT (.*)$`)[0]), &entry); err != nil {
		t.Fatal(err)
	}
	var user int
	fmt.Sscan(read("deploy/Dockerfile", `^USER (\d+):`)[0], &user)

	root := t.TempDir()
	file := func(name string) string { return filepath.Join(root, name) }
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"data", "etc/freshet"} {
		if err := os.MkdirAll(file(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file(entry[0]), program, 0o755); err != nil {
		t.Fatal(err)
	}
	// A process holds the container's network while it is made, as in a pod.
	hold := exec.CommandContext(t.Context(), "sleep", "infinity")
	if hold.SysProcAttr = namespaces(user); hold.Start() != nil {
		t.Skip("no second namespace may be made")
	}
	inside := fmt.Sprintf("nsenter --target %d --net ", hold.Process.Pid)
	for _, line := range []string{
		"ip link set lo up",
		fmt.Sprintf("ip link add docker0 type veth peer name eth0 netns %d", hold.Process.Pid),
		"ip addr add " + hostAddress + "/16 dev docker0", "ip link set docker0 up",
		inside + "ip link set lo up", inside + "ip addr add " + containerAddress + "/16 dev eth0", inside + "ip link set eth0 up",
	} {
		ip(t, line)
	}
	site := &httptest.Server{Listener: listen(t, hostAddress+":0"), Config: &http.Server{Handler: smallWeb()}}
	site.Start()
	t.Cleanup(site.Close)
	put(t, file("etc/freshet/token"), "a token that steers\n")
	put(t, file("etc/freshet/seeds"), "http://site.test/\n")
	put(t, file("etc/freshet/freshet.yaml"), fmt.Sprintf(
		"seeds: /etc/freshet/seeds\nresolve: site.test=%s\nallow-private: true\ndelay: 0s\ncontact: mailto:a@b.test\n", site.Listener.Addr()))

	enter := strings.Fields(inside + "--user --preserve-credentials --root=" + root + " --wd=" + root)
	container := exec.CommandContext(t.Context(), enter[0], slices.Concat(enter[1:], entry, arguments)...)
	container.Env = []string{"FRESHET_DATA=/data"}
	p := launch(t, container)
	p.awaitLine("serving")
	passOn(listen(t, published), net.JoinHostPort(containerAddress, port))

	b := openBrowser(t)
	b.do(chromedp.Navigate("http://" + published + "/"))
	b.text("document.querySelector('input[name=token]').value = 'a token that steers'")
	b.press("form[action='/sign-in'] button")
	b.await("the pages that the container has stored", func() bool {
		return strings.Contains(b.text("document.body?.innerText"), "Pages stored in this run\n3")
	})
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.end(); code != 3 {
		t.Errorf("the container ends with %d, want 3 as for any crawl that is interrupted", code)
	}
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// passOn passes connections on to an address, both ways, as Docker's proxy of a published port does.
func passOn(from net.Listener, to string) {
	go func() {
		for {
			near, err := from.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			for _, ends := range [][2]net.Conn{{near, far}, {far, near}} {
				go func() {
					_, _ = io.Copy(ends[0], ends[1])
					ends[0].Close()
				}()
			}
		}
	}()
}
