package adversary

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"freshet/clock"
	"freshet/internal/sites"
)

// Plan configures a web.
type Plan struct {
	Seed    uint64
	Hostile int // hostile hosts: one of each kind, the rest with random answers
	Honest  int
	Pages   int      // of each honest host
	Kinds   []string // the kinds to play, apart from the grammar; empty: all
	Memory  bool     // serve it in memory, with its own names and addresses, not at sockets
}

// Web is hosts and the log of their requests. It is safe for concurrent use.
type Web struct {
	Hosts []*Host

	plan   Plan
	clock  *clock.Clock
	log    log
	secure *authority
	work   sync.WaitGroup // connections
}

// Host is one machine of the web.
type Host struct {
	Name  string
	Kind  Kind
	Seeds []string // URLs at which a crawl begins
	Also  []string // further names of the machine

	plan    Plan
	random  *rand.Rand // for random choices when the host is made
	seed    uint64
	answers answer
	robots  answer          // nil: 404
	greets  func(*greeting) // handles a new connection before anything else; nil: nothing does
	looksUp func(n int, at netip.Addr) []netip.Addr
	wrongly bool // the certificate is for another name
}

// NewWeb returns the web of a plan. c is its clock.
func NewWeb(plan Plan, c *clock.Clock) (*Web, error) {
	secure, err := newAuthority(c)
	if err != nil {
		return nil, err
	}
	w := &Web{plan: plan, clock: c, secure: secure}
	w.log.clock = c
	for i := range plan.Honest {
		w.add(fmt.Sprintf("honest-%d.test", i+1), honestKind(plan.Pages), plan.Seed+uint64(i))
	}
	random := rand.New(rand.NewPCG(plan.Seed, 1))
	table := slices.DeleteFunc(Kinds(), func(k Kind) bool {
		out := k.lookups && !plan.Memory || k.sockets && plan.Memory
		return out || len(plan.Kinds) > 0 && !slices.Contains(plan.Kinds, k.Name)
	})
	if len(table) == 0 && plan.Hostile > 0 {
		return nil, fmt.Errorf("adversary: no kind is called %s", strings.Join(plan.Kinds, " or "))
	}
	for i := range plan.Hostile {
		kind := randomKind()
		if i < len(table) {
			kind = table[i]
		}
		w.add(fmt.Sprintf("%s-%d.test", kind.Name, i+1), kind, random.Uint64())
	}
	return w, nil
}

func (w *Web) add(name string, kind Kind, seed uint64) {
	h := &Host{Name: name, Kind: kind, plan: w.plan, seed: seed, random: rand.New(rand.NewPCG(seed, 0))}
	h.Seeds = []string{h.url("/")}
	kind.setUp(h)
	w.Hosts = append(w.Hosts, h)
}

// url returns the URL of a path of the host.
func (h *Host) url(path string) string {
	if h.Kind.TLS {
		return "https://" + h.Name + path
	}
	return "http://" + h.Name + path
}

// begin makes paths the host's seeds.
func (h *Host) begin(paths ...string) {
	h.Seeds = nil
	for _, path := range paths {
		h.Seeds = append(h.Seeds, h.url(path))
	}
}

// answer answers a request.
func (h *Host) answer(x *exchange) (keep bool) {
	switch {
	case x.path != "/robots.txt" && h.answers != nil:
		return h.answers(x)
	case h.robots != nil:
		return h.robots(x)
	}
	return x.say(status(404))
}

// Honest returns the honest hosts.
func (w *Web) Honest() []*Host {
	return slices.DeleteFunc(slices.Clone(w.Hosts), func(h *Host) bool { return h.Kind.Name != honestName })
}

// Names returns all names of the host.
func (h *Host) Names() []string { return append([]string{h.Name}, h.Also...) }

// TooSoon returns every request that came sooner than interval after the end of its host's last answer. On a busy
// machine the end of an answer is recorded late, by up to slack.
func (w *Web) TooSoon(interval, slack time.Duration) []sites.Violation {
	return slices.DeleteFunc(sites.Violations(w.log.exchanges(), interval), func(v sites.Violation) bool {
		h := w.host(v.Former.Host)
		return (v.Former.Cut || h != nil && h.greets != nil) && v.Gap >= interval-slack
	})
}

// Wait returns when no connection is open.
func (w *Web) Wait() { w.work.Wait() }

// KindOf returns the kind of the named host, or "" if there is no such host.
func (w *Web) KindOf(name string) string {
	if h := w.host(name); h != nil {
		return h.Kind.Name
	}
	return ""
}

// host returns the host with a name, nil if there is none.
func (w *Web) host(name string) *Host {
	for _, h := range w.Hosts {
		if h.Name == name || len(h.Also) > 0 && strings.HasSuffix(name, "."+h.Name) {
			return h
		}
	}
	return nil
}
