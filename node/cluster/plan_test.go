package cluster

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"freshet/allocate"
	"freshet/change"
	"freshet/clock"
	planning "freshet/cmd/freshet/plan"
	"freshet/crawl"
	"freshet/crawl/share"
	"freshet/internal/broker"
	"freshet/log"
	"freshet/log/jetstream"
	"freshet/refresh"
	"freshet/store"
	"freshet/weburl"
)

// planner is a node that does nothing but to plan visits to pages of known laws.
type planner struct {
	pages   lawful
	wants   share.Wants
	total   share.Total
	granted chan share.Grant
}

func (p *planner) Resend(weburl.Partition)                       {}
func (p *planner) Place(weburl.Partition) (log.Place, error)     { return log.Place{}, nil }
func (p *planner) Follow(weburl.Partition, ...store.Group) error { return nil }
func (p *planner) Load(weburl.Partition, io.Reader) error        { return errors.New("a test") }
func (p *planner) Snapshot(weburl.Partition, string, io.Writer) (log.Place, error) {
	return log.Place{}, errors.New("a test")
}
func (p *planner) CheckSnapshot(io.Reader) (weburl.Partition, string, log.Place, error) {
	return 0, "", log.Place{}, errors.New("a test")
}
func (p *planner) Forget(weburl.Partition) error                  { return nil }
func (p *planner) Seeded(weburl.Partition) ([]weburl.Site, error) { return nil, nil }
func (p *planner) Widen([]weburl.Site)                            {}
func (p *planner) Take(context.Context, weburl.Partition) error   { return nil }
func (p *planner) Give(context.Context, weburl.Partition) error   { return nil }
func (p *planner) Arrive(crawl.Parcel)                            {}
func (p *planner) Receive(crawl.Receipt)                          {}
func (p *planner) Pages() []int64                                 { return nil }
func (p *planner) Vitals() share.Vitals                           { return share.Vitals{} }
func (p *planner) Obey(crawl.Order) (crawl.Reply, error)          { return crawl.Reply{}, errors.New("a test") }
func (p *planner) Total() share.Total                             { return p.total }
func (p *planner) MostPages() int64                               { return 0 }
func (p *planner) Report() share.Report                           { return share.Report{Wants: p.wants} }
func (p *planner) Bid(float64) refresh.Bid {
	return func(threshold float64) allocate.Demand { return allocate.DemandOf(p.pages, threshold) }
}
func (p *planner) Fail(error) {}
func (p *planner) Grant(g share.Grant, _ uint64) {
	select {
	case p.granted <- g:
	default:
	}
}

// lawful are pages of known laws, over a horizon in seconds. It is a Problem of package allocate.
type lawful struct {
	rates, weights []float64
	horizon        float64
}

func (l lawful) Len() int                        { return len(l.rates) }
func (l lawful) Bounds(int) (int, int)           { return 0, math.MaxInt32 }
func (l lawful) Gain(i, x int) float64           { return l.weights[i] * l.curve(i).Gain(x) }
func (l lawful) Crawls(i int, g float64) float64 { return l.curve(i).Crawls(g / l.weights[i]) }
func (l lawful) curve(i int) change.Curve {
	return change.Page{Process: change.Poisson(l.rates[i]), Interval: l.horizon}
}

// part returns the pages from one to before another.
func (l lawful) part(from, to int) lawful {
	return lawful{l.rates[from:to], l.weights[from:to], l.horizon}
}

// planned returns how often freshet plan visits each page.
func (l lawful) planned(t *testing.T, visits int64) (crawls []int32) {
	t.Helper()
	var pages, out strings.Builder
	pages.WriteString("url,weight,rate\n")
	for i := range l.Len() {
		fmt.Fprintf(&pages, "%d,%v,%v\n", i, l.weights[i], l.rates[i]*86400)
	}
	commands := planning.Commands()
	cmd := commands[slices.IndexFunc(commands, func(c *cobra.Command) bool { return c.Name() == "plan" })]
	cmd.SetArgs([]string{
		"--pages", "-", "--budget", fmt.Sprint(visits), "--interval", time.Duration(l.horizon * 1e9).String(), "--convention", "paper", "--out", "-",
	})
	cmd.SetIn(strings.NewReader(pages.String()))
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || len(rows) != l.Len()+1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		n, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		crawls = append(crawls, int32(n))
	}
	return crawls
}

// TestPlanOfThreeNodes holds that three nodes plan the visits that freshet plan plans for all their pages, to the last
// visit. The nodes agree over a real NATS server.
func TestPlanOfThreeNodes(t *testing.T) {
	const pages, requests = 900, 400
	rng := rand.New(rand.NewPCG(30, 2))
	var all lawful
	for range pages {
		all.rates = append(all.rates, (0.02+rng.ExpFloat64())/86400)
		all.weights = append(all.weights, float64(1+rng.IntN(3)))
	}
	whole := share.Of(requests, 86400, 0, pages)
	all.horizon = whole.Horizon
	want := all.planned(t, whole.Visits)

	s := broker.JetStream(t)
	cuts := []int{0, 100, 550, pages}
	var nodes []*planner
	for i := range 3 {
		n := &planner{pages: all.part(cuts[i], cuts[i+1]), granted: make(chan share.Grant, 100)}
		n.wants.Pages = int64(cuts[i+1] - cuts[i])
		n.total = share.Total{Requests: requests, Interval: 86400}
		nodes = append(nodes, n)
		conn, err := nats.Connect(s.ClientURL())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		name := fmt.Sprint("node-", i)
		open := func(ctx context.Context) (log.Log, error) {
			return jetstream.Open(ctx, conn, jetstream.Options{Cluster: "plan", Partitions: 4, Streams: 1, Replicas: 1}, clock.Real())
		}
		part, err := Join(t.Context(), conn, open, Options{
			Cluster: "plan", Node: name, Directory: newDirectory(t, "plan"), Partitions: 4, Replicas: 1, Lease: time.Second,
			Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := part.Begin(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		defer func() { part.Stay(); _ = part.Close(context.Background(), true) }()
	}
	var got []int32
	sum, given := int64(0), int64(0)
	for _, n := range nodes {
		g := n.last(t, whole)
		sum, given = sum+g.Visits, given+g.Requests
		crawls, err := allocate.Multiplier(n.pages, int(g.Visits))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, crawls...)
	}
	if sum != whole.Visits || given != requests {
		t.Errorf("the nodes have %d visits of %d and %d requests of %d", sum, whole.Visits, given, requests)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("visits a page (-of one node +of three):\n%s", diff)
	}
}

// last waits for a grant of a division in which all pages took part.
func (p *planner) last(t *testing.T, whole share.Total) share.Grant {
	t.Helper()
	late, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		select {
		case g := <-p.granted:
			if g.Horizon == whole.Horizon {
				return g
			}
		case <-late.Done():
			t.Fatal("no part of the budget within 30 s")
		}
	}
}
