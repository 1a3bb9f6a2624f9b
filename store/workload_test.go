package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"freshet/weburl"
)

// workload writes a small random crawl into a store: pages of a few sites are discovered, fetched
// with every outcome, planned, refused, withdrawn and purged, and consumers move on. Equal seeds
// write equal records.
type workload struct {
	t     testing.TB
	rng   *rand.Rand
	urls  []weburl.URL
	clock int // minutes
	done  []weburl.URL
}

func newWorkload(t testing.TB, seed uint64, pages int) *workload {
	w := &workload{t: t, rng: rand.New(rand.NewPCG(seed, 1))}
	hosts := []string{"alder.test", "www.alder.test", "birch.test:8080", "cedar.test", "dogwood.test", "elm.test"}
	for i := range pages {
		w.urls = append(w.urls, parse(t, fmt.Sprintf("http://%s/page/%d", hosts[i%len(hosts)], i)))
	}
	return w
}

// step does one write: a group of fetches or a batch of other records.
func (w *workload) step(s *Store) error {
	w.clock++
	if w.rng.IntN(3) > 0 {
		return w.fetch(s)
	}
	var records []Record
	for range 1 + w.rng.IntN(4) {
		if r := w.record(s); len(records) == 0 || !looksFurther(r.kind()) && !looksFurther(records[0].kind()) {
			records = append(records, r)
		}
	}
	_, err := s.Apply(records...)
	return err
}

func (w *workload) pick() weburl.URL { return w.urls[w.rng.IntN(len(w.urls))] }

func (w *workload) fetch(s *Store) error {
	var group []Fetch
	var asked []weburl.URL
	for range 1 + w.rng.IntN(5) {
		u := w.pick()
		f := w.result(u)
		if r, ok := f.Record.(*Fetched); ok {
			asked = append(asked, u)
			if w.rng.IntN(2) == 0 {
				r.RetryAt = at(w.clock + 60)
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

func (w *workload) result(u weburl.URL) Fetch {
	switch w.rng.IntN(10) {
	case 0:
		return status(u, w.clock, 404)
	case 1:
		return status(u, w.clock, 503)
	case 2:
		f := status(u, w.clock, 301)
		f.Record.(*Fetched).Redirect, f.Record.(*Fetched).Permanent = w.urls[0], true
		return f
	case 3:
		f := answer(w.t, u.Site().Root(), w.clock, "User-agent: *\nDisallow:\n")
		r := f.Record.(*Fetched)
		f.Record = &Robots{Site: u.Site(), At: r.At, End: r.End, Outcome: OutcomeStored, Status: 200, Body: []byte("User-agent: *\n"), Keep: true, Expires: at(w.clock + 1440), Gate: r.Gate}
		return f
	case 4:
		return status(u, w.clock, 304)
	}
	f := answer(w.t, u, w.clock, fmt.Sprintf("<p>%s %d</p>", u, w.rng.IntN(3)))
	r := f.Record.(*Fetched)
	r.Links = EncodeLinks([]OutLink{{URL: w.pick(), Rel: weburl.RelAnchor}, {URL: w.pick(), Rel: weburl.RelEmbed, NoFollow: true}})
	r.NoArchive = w.rng.IntN(10) == 0
	return f
}

func (w *workload) record(s *Store) Record {
	u := w.pick()
	p, fp := home(u), u.Fingerprint()
	switch w.rng.IntN(17) {
	case 0:
		return &Planned{Partition: p, Fingerprint: fp, Due: at(w.clock + w.rng.IntN(100))}
	case 1:
		return &Refused{URL: u, At: at(w.clock), Reason: "robots"}
	case 2:
		return &Withdrawn{Partition: p, Fingerprint: fp, At: at(w.clock), Reason: "robots"}
	case 3:
		if w.rng.IntN(4) == 0 {
			return &Purged{Partition: p, Fingerprint: fp, At: at(w.clock)}
		}
		return &Gated{Partition: p, Host: u.Host(), Gate: Gate{Next: at(w.clock + 5)}}
	case 5:
		r := &Ranked{Partition: p}
		for range 1 + w.rng.IntN(6) {
			r.Pages = append(r.Pages, Rank{Fingerprint: w.pick().Fingerprint(), Order: uint64(w.rng.IntN(10)), Cash: w.rng.Float64()})
		}
		return r
	case 14:
		return &Arrived{Partition: p, From: (p + 1) % testPartitions, Record: uint64(w.rng.IntN(w.clock)), Links: []NewPage{{URL: u, Cash: 1}}}
	case 15:
		return &Parted{Partition: p, To: (p + 1) % testPartitions, Record: uint64(w.clock), Joined: w.rng.IntN(2) == 0}
	case 16:
		return &Taken{Partition: p, By: "b"}
	case 9:
		pause := &Paused{Partition: p, Since: at(w.clock)}
		if w.rng.IntN(2) == 0 {
			pause.Site = u.Site()
		}
		return pause
	case 4:
		c, err := s.Counters(p)
		if err != nil {
			w.t.Fatal(err)
		}
		return &Mark{Partition: p, Consumer: []string{"links", "seen"}[w.rng.IntN(2)], Record: c.Records}
	}
	switch w.rng.IntN(6) {
	case 0:
		return &Pruned{Partition: p, Fingerprint: fp, Versions: uint32(w.rng.IntN(4)), Visits: uint32(w.rng.IntN(6))}
	case 1:
		if w.rng.IntN(10) == 0 {
			return &SitePurged{Site: w.urls[5].Site(), At: at(w.clock)}
		}
		return &Scrubbed{Partition: p}
	case 2:
		if changes, err := s.Changes(p, 0, 3); err == nil && len(changes) > 0 {
			return &Forgotten{Partition: p, Changes: []uint64{changes[len(changes)-1].Record}}
		}
	}
	r := &Discovered{Partition: p, At: at(w.clock)}
	for range 1 + w.rng.IntN(6) {
		if v := w.pick(); home(v) == p {
			r.New = append(r.New, NewPage{URL: v, Depth: uint16(w.rng.IntN(5)), Order: uint64(w.rng.IntN(10)), Rel: weburl.RelAnchor, Via: fp, Cash: w.rng.Float64()})
		} else {
			r.Refused = append(r.Refused, Refusal{Site: v.Site(), Reason: "depth", Count: 1})
		}
	}
	r.Repeats = append(r.Repeats, Repeat{Fingerprint: fp, Depth: uint16(w.rng.IntN(5)), Hops: 1, Cash: 0.25, Order: uint64(w.rng.IntN(10))})
	return r
}

func (w *workload) run(s *Store, steps int) {
	w.t.Helper()
	for range steps {
		if err := w.step(s); err != nil {
			w.t.Fatal(err)
		}
	}
}

// verify fails the test for every problem of a store.
func verify(t testing.TB, s *Store) {
	t.Helper()
	problems := 0
	err := s.Verify(context.Background(), func(p Problem) {
		if problems++; problems < 10 {
			t.Error(p)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
