package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"freshet/store"
	"freshet/store/repair"
	"freshet/weburl"
)

// Workload writes a small random crawl into a store: pages of a few sites are discovered, fetched
// with every outcome, planned, refused, withdrawn and purged, and consumers move on. Equal seeds
// write equal records.
type Workload struct {
	t     testing.TB
	rng   *rand.Rand
	urls  []weburl.URL
	clock int // minutes
	done  []weburl.URL
}

// NewWorkload returns a workload over that many pages.
func NewWorkload(t testing.TB, seed uint64, pages int) *Workload {
	w := &Workload{t: t, rng: rand.New(rand.NewPCG(seed, 1))}
	hosts := []string{"alder.test", "www.alder.test", "birch.test:8080", "cedar.test", "dogwood.test", "elm.test"}
	for i := range pages {
		w.urls = append(w.urls, Parse(t, fmt.Sprintf("http://%s/page/%d", hosts[i%len(hosts)], i)))
	}
	return w
}

// Step does one write: a group of fetches or a batch of other records.
func (w *Workload) Step(s *store.Store) error {
	w.clock++
	if w.rng.IntN(3) > 0 {
		return w.fetch(s)
	}
	var records []store.Record
	for range 1 + w.rng.IntN(4) {
		if r := w.record(s); len(records) == 0 || !looksFurther(r) && !looksFurther(records[0]) {
			records = append(records, r)
		}
	}
	_, err := s.Apply(records...)
	return err
}

// looksFurther reports whether a record must not be mixed with other kinds in one Apply.
func looksFurther(r store.Record) bool {
	switch r.(type) {
	case *store.Scrubbed, *store.Relocated, *store.Pruned, *store.Forgotten:
		return true
	}
	return false
}

func (w *Workload) pick() weburl.URL { return w.urls[w.rng.IntN(len(w.urls))] }

func (w *Workload) fetch(s *store.Store) error {
	var group []store.Fetch
	var asked []weburl.URL
	for range 1 + w.rng.IntN(5) {
		u := w.pick()
		f := w.result(u)
		if r, ok := f.Record.(*store.Fetched); ok {
			asked = append(asked, u)
			if w.rng.IntN(2) == 0 {
				r.RetryAt = At(w.clock + 60)
			}
		}
		group = append(group, f)
	}
	_, err := s.CommitPages(group)
	if err == nil {
		w.done = append(w.done, asked...)
	}
	return err
}

func (w *Workload) result(u weburl.URL) store.Fetch {
	switch w.rng.IntN(10) {
	case 0:
		return Status(u, w.clock, 404)
	case 1:
		return Status(u, w.clock, 503)
	case 2:
		f := Status(u, w.clock, 301)
		f.Record.(*store.Fetched).Redirect, f.Record.(*store.Fetched).Permanent = w.urls[0], true
		return f
	case 3:
		f := Answer(w.t, u.Site().Root(), w.clock, "User-agent: *\nDisallow:\n")
		r := f.Record.(*store.Fetched)
		f.Record = &store.Robots{Site: u.Site(), At: r.At, End: r.End, Outcome: store.OutcomeStored, Status: 200, Body: []byte("User-agent: *\n"), Keep: true, Expires: At(w.clock + 1440), Gate: r.Gate}
		return f
	case 4:
		return Status(u, w.clock, 304)
	}
	f := Answer(w.t, u, w.clock, fmt.Sprintf("<p>%s %d</p>", u, w.rng.IntN(3)))
	r := f.Record.(*store.Fetched)
	r.Links = store.EncodeLinks([]store.OutLink{{URL: w.pick(), Rel: weburl.RelAnchor}, {URL: w.pick(), Rel: weburl.RelEmbed, NoFollow: true}})
	r.NoArchive = w.rng.IntN(10) == 0
	return f
}

func (w *Workload) record(s *store.Store) store.Record {
	u := w.pick()
	p, fp := Home(u), u.Fingerprint()
	switch w.rng.IntN(17) {
	case 0:
		return &store.Planned{Partition: p, Fingerprint: fp, Due: At(w.clock + w.rng.IntN(100))}
	case 1:
		return &store.Refused{URL: u, At: At(w.clock), Reason: "robots"}
	case 2:
		return &store.Withdrawn{Partition: p, Fingerprint: fp, At: At(w.clock), Reason: "robots"}
	case 3:
		if w.rng.IntN(4) == 0 {
			return &store.Purged{Partition: p, Fingerprint: fp, At: At(w.clock)}
		}
		return &store.Gated{Partition: p, Host: u.Host(), Gate: store.Gate{Next: At(w.clock + 5)}}
	case 5:
		r := &store.Ranked{Partition: p}
		for range 1 + w.rng.IntN(6) {
			r.Pages = append(r.Pages, store.Rank{Fingerprint: w.pick().Fingerprint(), Order: uint64(w.rng.IntN(10)), Cash: w.rng.Float64()})
		}
		return r
	case 14:
		links := []store.NewPage{{URL: u, Cash: 1}}
		return &store.Arrived{Partition: p, From: (p + 1) % Partitions, Record: uint64(w.rng.IntN(w.clock)), Links: links}
	case 15:
		return &store.Parted{Partition: p, To: (p + 1) % Partitions, Record: uint64(w.clock), Joined: w.rng.IntN(2) == 0}
	case 16:
		return &store.Taken{Partition: p, By: "b"}
	case 9:
		pause := &store.Paused{Partition: p, Since: At(w.clock)}
		if w.rng.IntN(2) == 0 {
			pause.Site = u.Site()
		}
		return pause
	case 4:
		c, err := s.Counters(p)
		if err != nil {
			w.t.Fatal(err)
		}
		return &store.Mark{Partition: p, Consumer: []string{"links", "seen"}[w.rng.IntN(2)], Record: c.Records}
	}
	switch w.rng.IntN(6) {
	case 0:
		return &store.Pruned{Partition: p, Fingerprint: fp, Versions: uint32(w.rng.IntN(4)), Visits: uint32(w.rng.IntN(6))}
	case 1:
		if w.rng.IntN(10) == 0 {
			return &store.SitePurged{Site: w.urls[5].Site(), At: At(w.clock)}
		}
		return &store.Scrubbed{Partition: p}
	case 2:
		if changes, err := s.Changes(p, 0, 3); err == nil && len(changes) > 0 {
			return &store.Forgotten{Partition: p, Changes: []uint64{changes[len(changes)-1].Record}}
		}
	}
	r := &store.Discovered{Partition: p, At: At(w.clock)}
	for range 1 + w.rng.IntN(6) {
		if v := w.pick(); Home(v) == p {
			r.New = append(r.New, store.NewPage{URL: v, Depth: uint16(w.rng.IntN(5)), Order: uint64(w.rng.IntN(10)), Rel: weburl.RelAnchor, Via: fp, Cash: w.rng.Float64()})
		} else {
			r.Refused = append(r.Refused, store.Refusal{Site: v.Site(), Reason: "depth", Count: 1})
		}
	}
	r.Repeats = append(r.Repeats, store.Repeat{Fingerprint: fp, Depth: uint16(w.rng.IntN(5)), Hops: 1, Cash: 0.25, Order: uint64(w.rng.IntN(10))})
	return r
}

// Run does some writes.
func (w *Workload) Run(s *store.Store, steps int) {
	w.t.Helper()
	for range steps {
		if err := w.Step(s); err != nil {
			w.t.Fatal(err)
		}
	}
}

// Verify fails the test for every problem of a store.
func Verify(t testing.TB, s *store.Store) {
	t.Helper()
	problems := 0
	err := repair.Verify(context.Background(), s, func(p store.Problem) {
		if problems++; problems < 10 {
			t.Error(p)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
