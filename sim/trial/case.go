package trial

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/weburl"
)

// A Case is the input of a trial.
type Case struct {
	Seed   uint64
	Length time.Duration // the last part of it is calm
	Sites  []Site
	Crawl  Crawl
	Faults []Fault
}

// A Site is one site of the web.
type Site struct {
	Label      string // its name in Without
	Name       weburl.Site
	Address    netip.Addr
	Pages      int
	Seed       bool // its root is a seed
	Robots     robotsKind
	Validators validatorKind
	Change     float64       // changes a day of its fastest page
	Took       time.Duration // about the time of an answer
	Keeps      bool          // connections are kept open
}

type robotsKind uint8

const (
	robotsNone      robotsKind = iota // 404
	robotsOpen                        // allows all, and names a sitemap
	robotsPart                        // forbids /d/
	robotsDelay                       // Crawl-delay
	robotsTurning                     // forbids /d/ at some times
	robotsElsewhere                   // redirects to another host
	robotsKinds
)

type validatorKind uint8

const (
	validatorsRight validatorKind = iota
	validatorsNone
	validatorsLying // do not change when the page does
	validatorKinds
)

// Crawl is the settings of the crawl. A zero field means the same as in shard.Settings.
type Crawl struct {
	Scope          string
	Ordering       string
	Wait           bool
	Delay          time.Duration
	Adaptive       float64
	AddressDelay   time.Duration
	PerConnection  int
	MaxPages       int64
	MaxDepth       int
	PagesPerSite   int64
	Retries        int
	RetryDelay     time.Duration
	Budget         int64 // requests an interval; 0: pages are fetched once
	Interval       time.Duration
	Policy         string
	Rank           time.Duration
	Hours          string // of the first site
	SiteDelay      time.Duration
	Excluded       bool // the rules exclude pages whose number ends in 7
	Room           int
	Partitions     int
	TDMRep         bool
	RobotsBytes    int64
	OfferBytes     int64
	GroupBytes     int
	Second         time.Duration
	CacheEntries   int // of the seen test
	BufferLinks    int
	Workers        int
	ProcessTook    time.Duration
	AppendTook     time.Duration
	CancelAtStop   bool // a stop cancels requests in flight
	StrikesAtCrash bool // the process dies and not the machine: the pages in processing are known
}

// A Fault is something that happens to the crawl.
type Fault struct {
	Label string
	Kind  faultKind
	At    time.Duration
	For   time.Duration // how long it lasts; of a crash or a stop: until the next start
	Site  int           // of Case.Sites
	Page  int           // of the site, if the fault is about a page
	Step  time.Duration // of the machine's clock at the next start
	Again int           // of a crash: the next start crashes after this many events; 0: it does not
	Value int
}

type faultKind string

const (
	crash        faultKind = "crash"
	stop         faultKind = "stop"
	refusing     faultKind = "refusing"   // a server refuses connections
	silent       faultKind = "silent"     // a server does not answer
	overloaded   faultKind = "overloaded" // a server answers 503
	failing      faultKind = "failing"    // a server answers 500
	noRobots     faultKind = "no-robots"  // only robots.txt of a server cannot be fetched
	noName       faultKind = "no-name"    // a host's name cannot be resolved
	slowDisk     faultKind = "slow-disk"
	pauseAll     faultKind = "pause-all"
	pauseSite    faultKind = "pause"
	blockHost    faultKind = "block"
	addSeed      faultKind = "add"
	recrawl      faultKind = "recrawl"
	recrawlSite  faultKind = "recrawl-site"
	purgePage    faultKind = "purge"
	purgeSite    faultKind = "purge-site"
	ping         faultKind = "ping"
	reload       faultKind = "reload"
	changeBudget faultKind = "budget"
	paceSite     faultKind = "pace"
)

// calmTime is the length of the calm at the end of a case.
const calmTime = 26 * time.Hour

// Calm returns the time from which on there are no faults.
func (c *Case) Calm() time.Duration { return max(time.Hour, c.Length-calmTime) }

// Draw returns the case of a seed.
func Draw(seed uint64, length time.Duration) Case {
	r := rand.New(rand.NewPCG(seed, 0x7121a1))
	c := Case{Seed: seed, Length: length}
	for i := range 2 + r.IntN(5) {
		c.Sites = append(c.Sites, drawSite(r, i))
	}
	c.Sites[0].Seed = true
	c.Crawl = drawCrawl(r)
	c.Crawl.TDMRep = mix(seed)%4 > 0
	for i := range r.IntN(13) {
		f := drawFault(r, &c)
		f.Label = fmt.Sprintf("f%d", i)
		c.Faults = append(c.Faults, f)
	}
	slices.SortStableFunc(c.Faults, func(a, b Fault) int { return int(a.At - b.At) })
	if r.IntN(6) == 0 {
		c.endOften(one(r, crash, stop))
	}
	return c
}

// endOften ends several lives in a row while a crawl begins. Only that shows what a restart forgets.
func (c *Case) endOften(how faultKind) {
	c.Faults = nil
	for i := range 10 {
		f := Fault{Label: fmt.Sprintf("f%d", i), Kind: how, At: time.Duration(i+1) * 37 * time.Second}
		c.Faults = append(c.Faults, f)
	}
	for i := range c.Sites {
		c.Sites[i].Seed = true
	}
	r := &c.Crawl
	r.Delay, r.StrikesAtCrash, r.CancelAtStop, r.AppendTook = 5*time.Second, false, false, time.Second
	r.Scope, r.Budget, r.Rank, r.MaxPages, r.MaxDepth, r.PagesPerSite = "site", 0, 0, 0, 0, 0
}

// drawSite draws one site. Some share a domain, a host or an address.
func drawSite(r *rand.Rand, i int) Site {
	host, port := fmt.Sprintf("s%d.test", i), ""
	if i > 0 {
		switch r.IntN(6) {
		case 0:
			host, port = fmt.Sprintf("s%d.test", i-1), ":8080"
		case 1:
			host = fmt.Sprintf("www.s%d.test", i-1)
		}
	}
	s := Site{
		Label: fmt.Sprintf("s%d", i), Name: weburl.Site("http://" + host + port),
		Address: netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + r.IntN(i/2+1))}),
		Pages:   1 + r.IntN(25), Seed: r.IntN(4) > 0, Robots: robotsKind(r.IntN(int(robotsKinds))),
		Validators: validatorKind(r.IntN(int(validatorKinds))), Change: []float64{0, 0.3, 3, 20}[r.IntN(4)],
		Took: time.Duration(20+r.IntN(2000)) * time.Millisecond, Keeps: r.IntN(2) == 0,
	}
	if s.Robots == robotsElsewhere && i == 0 {
		s.Robots = robotsOpen
	}
	return s
}

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func drawCrawl(r *rand.Rand) Crawl {
	c := Crawl{
		Scope:    one(r, "site", "site", "domain", "any", "page"),
		Ordering: one(r, "cash-sum", "cash-sum", "opic", "in-links", "length", "depth", "batch:5", "partial:7"),
		Wait:     r.IntN(3) == 0, Delay: one(r, 0, time.Second, 5*time.Second, 20*time.Second),
		Adaptive: one(r, 0.0, 0, 3), AddressDelay: one(r, 0, 0, 2*time.Second), PerConnection: one(r, 1, 1, 3),
		MaxPages: one[int64](r, 0, 0, 0, 0, 20), MaxDepth: one(r, 0, 0, 0, 2), PagesPerSite: one[int64](r, 0, 0, 0, 8),
		Retries: one(r, 0, 2, 3), RetryDelay: one(r, 30*time.Second, 10*time.Minute),
		Room: one(r, 1, 2, 5, 20), Partitions: one(r, 1, 2, 5), RobotsBytes: one[int64](r, 3000, 1<<20),
		OfferBytes: one[int64](r, 400, 1<<20), GroupBytes: one(r, 300, 1<<20),
		Second:       one(r, 2*time.Minute, 10*time.Minute, 30*time.Minute),
		CacheEntries: one(r, 4, 64, 1024), BufferLinks: one(r, 8, 64, 4096), Workers: one(r, 1, 2, 8),
		ProcessTook: one(r, 5*time.Millisecond, 2*time.Second), AppendTook: one(r, 10*time.Millisecond, 3*time.Second),
		CancelAtStop: r.IntN(2) == 0, StrikesAtCrash: r.IntN(2) == 0, Excluded: r.IntN(5) == 0,
		Hours: one(r, "", "", "", "6:00-9:00,20:00-4:00"), SiteDelay: one(r, 0, 0, 0, 40*time.Second),
	}
	if r.IntN(3) > 0 {
		c.Budget, c.Interval = int64(40+r.IntN(250)), one(r, 24*time.Hour, 24*time.Hour, 12*time.Hour)
		c.Policy = one(r, "default", "default", "default", "plan", "uniform", "lambdacrawl", "golden", "azar")
		c.Rank = one(r, 0, 0, 5*time.Hour)
	}
	return c
}

// drawFault draws one fault. It is over when the calm begins.
func drawFault(r *rand.Rand, c *Case) Fault {
	calm := c.Calm()
	f := Fault{
		Kind: one(r, crash, crash, crash, stop, stop, refusing, silent, overloaded, failing, noRobots, noName, slowDisk,
			pauseAll, pauseSite, blockHost, addSeed, recrawl, recrawlSite, purgePage, purgeSite, ping, reload, changeBudget, paceSite),
		At: time.Duration(r.Int64N(int64(calm))), Site: r.IntN(len(c.Sites)), Page: r.IntN(20), Value: r.IntN(1000),
	}
	if r.IntN(2) == 0 { // while much is under way
		f.At = time.Duration(r.Int64N(int64(4 * time.Minute)))
	}
	switch f.Kind {
	case crash, stop:
		f.For = one(r, 0, time.Second, time.Minute, 5*time.Hour)
		f.Step = one(r, 0, 0, 0, 2*time.Hour, -2*time.Hour, -3*time.Second)
		if f.Kind == crash && r.IntN(3) == 0 {
			f.Again = 1 + r.IntN(12)
		}
	default:
		f.For = time.Duration(r.Int64N(int64(20 * time.Hour)))
	}
	f.For = max(0, min(f.For, calm-f.At))
	return f
}

// Without returns a smaller case. A label removes a site or fault ("s1", "f3") or sets the pages ("pages=4"), the
// length ("hours=1") or the plainest settings ("crawl").
func (c Case) Without(labels ...string) (Case, error) {
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		switch {
		case key == "pages":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return c, fmt.Errorf("trial: %q: want pages=N, N at least 1", label)
			}
			c.Sites = slices.Clone(c.Sites)
			for i := range c.Sites {
				c.Sites[i].Pages = min(c.Sites[i].Pages, n)
			}
		case plain[key] != nil:
			plain[key](&c.Crawl)
		case strings.HasPrefix(label, "f") && c.hasFault(label):
			c.Faults = slices.DeleteFunc(slices.Clone(c.Faults), func(f Fault) bool { return f.Label == label })
		case strings.HasPrefix(label, "s") && c.hasSite(label):
			c.removeSite(label)
		default:
			return c, fmt.Errorf("trial: the case has no %q", label)
		}
	}
	return c, nil
}

// plain sets one setting to its plainest value, by label.
var plain = map[string]func(*Crawl){
	"adaptive":       func(c *Crawl) { c.Adaptive = 0 },
	"address-delay":  func(c *Crawl) { c.AddressDelay = 0 },
	"per-connection": func(c *Crawl) { c.PerConnection = 1 },
	"limits":         func(c *Crawl) { c.MaxPages, c.MaxDepth, c.PagesPerSite = 0, 0, 0 },
	"rank":           func(c *Crawl) { c.Rank = 0 },
	"hours":          func(c *Crawl) { c.Hours = "" },
	"site-delay":     func(c *Crawl) { c.SiteDelay = 0 },
	"rules":          func(c *Crawl) { c.Excluded = false },
	"tdmrep":         func(c *Crawl) { c.TDMRep = false },
	"refresh":        func(c *Crawl) { c.Budget, c.Rank = 0, 0 },
	"policy":         func(c *Crawl) { c.Policy = "default" },
	"ordering":       func(c *Crawl) { c.Ordering = "length" },
	"buffers": func(c *Crawl) {
		c.RobotsBytes, c.OfferBytes, c.GroupBytes, c.CacheEntries, c.BufferLinks = 1<<20, 1<<20, 1<<20, 1024, 4096
	},
	"partitions": func(c *Crawl) { c.Partitions = 1 },
	"room":       func(c *Crawl) { c.Room, c.Workers = 1, 1 },
	"strikes":    func(c *Crawl) { c.StrikesAtCrash = false },
	"cancel":     func(c *Crawl) { c.CancelAtStop = false },
}

func (c *Case) hasFault(label string) bool {
	return slices.ContainsFunc(c.Faults, func(f Fault) bool { return f.Label == label })
}

func (c *Case) hasSite(label string) bool {
	return len(c.Sites) > 1 && slices.ContainsFunc(c.Sites, func(s Site) bool { return s.Label == label })
}

// removeSite removes a site and its faults.
func (c *Case) removeSite(label string) {
	i := slices.IndexFunc(c.Sites, func(s Site) bool { return s.Label == label })
	c.Sites = slices.Delete(slices.Clone(c.Sites), i, i+1)
	var faults []Fault
	for _, f := range c.Faults {
		switch {
		case f.Site > i:
			f.Site--
		case f.Site == i && f.ofSite():
			continue
		case f.Site == i:
			f.Site = 0
		}
		faults = append(faults, f)
	}
	c.Faults = faults
	if !slices.ContainsFunc(c.Sites, func(s Site) bool { return s.Seed }) {
		c.Sites[0].Seed = true
	}
}

// ofSite reports whether a fault is about one site.
func (f *Fault) ofSite() bool {
	switch f.Kind {
	case crash, stop, slowDisk, pauseAll, reload, changeBudget:
		return false
	}
	return true
}

// String returns the case for people.
func (c Case) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %v, calm from %v\n", c.Seed, c.Length, c.Calm())
	for i, s := range c.Sites {
		fmt.Fprintf(&b, "  %s %s at %v: %d pages, seed %v, robots %d, validators %d, %g changes a day, answers in %v, keeps %v\n",
			s.Label, s.Name, s.Address, s.Pages, s.Seed, s.Robots, s.Validators, s.Change, s.Took, s.Keeps)
		_ = i
	}
	fmt.Fprintf(&b, "  crawl %+v\n", c.Crawl)
	for _, f := range c.Faults {
		fmt.Fprintf(&b, "  %s %v %s for %v", f.Label, f.At, f.Kind, f.For)
		if f.ofSite() {
			fmt.Fprintf(&b, " %s page %d", c.Sites[f.Site].Label, f.Page)
		}
		if f.Step != 0 || f.Again != 0 {
			fmt.Fprintf(&b, " clock %v, again %d", f.Step, f.Again)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
