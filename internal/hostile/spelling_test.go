package hostile

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"freshet/node"
	"freshet/store"
)

// spellings returns ways to write one host, of all that a URL allows.
func spellings() []string {
	return []string{
		"http://a.test", "HTTP://A.TEST", "http://a.test.", "http://A.test.:80", "http://a.test:80", "http://a.test:8080",
		"http://a.test.:8080", "http://%61.test", "http://ａ.test", "http://user@a.test", "http://a。test", "https://a.test", "https://a.test.:443",
	}
}

// The crawl asks a host once in an interval, for every spelling of its name and for every scheme and port.
func TestSpellingsAreOneHost(t *testing.T) {
	for seed := range uint64(3) {
		random := rand.New(rand.NewPCG(seed, 8))
		shared := public(1)
		every := each(func(out io.Writer, r *http.Request) bool {
			links := ""
			for range 3 {
				links += fmt.Sprintf(`<a href="%s/%d">next</a>`, spellings()[random.IntN(len(spellings()))], random.IntN(4))
			}
			_, err := io.WriteString(out, html("<title>A</title>"+links))
			return err == nil
		})
		var seeds []string
		explains := map[string]string{}
		for _, spelling := range spellings() {
			seeds = append(seeds, spelling+"/")
			if !strings.HasPrefix(spelling, "https:") { // which has no server here: the attempt counts all the same
				explains[spelling+"/"] = ""
			}
		}
		trial{
			hosts: func(n *network) {
				n.servers[shared] = server{answer: every}
				for _, name := range []string{"a.test", "a.test."} {
					n.name(name, func(int) []netip.Addr { return []netip.Addr{shared} })
				}
			},
			seeds: seeds, rate: 1000, delay: 10 * time.Second,
			options:  func(o *node.Options) { o.Scope = "domain"; o.Retries = new(0) },
			explains: explains,
			check: func(t *testing.T, n *network, _ *store.Store) {
				n.apart(byAddress, 10*time.Second)
				if asked := len(n.requests(byAddress)[shared.String()]); asked < 10 {
					t.Errorf("seed %d: %d requests: want all pages asked for", seed, asked)
				}
			},
		}.run(t)
	}
}
