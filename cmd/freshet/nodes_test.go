package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"freshet/dashboard"
	"freshet/internal/broker"
)

// TestNodesInBrowser looks at a cluster through the window of one of its two nodes: it shows both, and that the other
// has left. Pictures are kept with -artifacts.
func TestNodesInBrowser(t *testing.T) {
	b := openBrowser(t)
	site, _ := endlessSite(t)
	servers := broker.JetStream(t).ClientURL()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "seeds.txt"), "http://site.test/\n")
	var addresses []string
	var nodes []*process
	for _, name := range []string{"one", "two"} {
		address := freeAddress(t, "127.0.0.1")
		config := filepath.Join(dir, name+".yaml")
		put(t, config, fmt.Sprintf("data: %s\nseeds: %s\nresolve: site.test=%s\nallow-private: true\ndelay: 50ms\nlisten: %s\ncontact: mailto:a@b.test\n"+
			"nats: %s\nnats-replicas: 1\nnode: %s\n", filepath.Join(dir, name), filepath.Join(dir, "seeds.txt"),
			strings.TrimPrefix(site.URL, "http://"), address, servers, name))
		node := start(t, "serve", "--config", config)
		node.awaitLine("serving")
		addresses, nodes = append(addresses, address), append(nodes, node)
	}
	at := "http://" + addresses[0]
	told := func() (all dashboard.Nodes) {
		response, err := http.Get(at + "/api/v1/nodes")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if err := json.NewDecoder(response.Body).Decode(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	b.do(chromedp.Navigate(at + "/nodes"))
	b.await("both nodes at work", func() bool {
		all := told()
		return len(all.Nodes) == 2 && all.Sum.Stored > 0 && len(all.Sum.Partitions) == all.Partitions &&
			len(all.Nodes[0].Partitions) > 0 && len(all.Nodes[1].Partitions) > 0
	})
	says := func(text string) func() bool {
		return func() bool { return strings.Contains(b.text("document.querySelector('main')?.innerText"), text) }
	}
	b.await("that all is well", says("2 nodes at work, with all 16 partitions"))
	b.inspect(at, "/nodes")
	if err := nodes[1].Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	nodes[1].end()
	b.await("that one has left", func() bool { return says("1 node at work, with all 16 partitions")() && says("ended")() })
	if err := nodes[0].Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	nodes[0].end()
}
