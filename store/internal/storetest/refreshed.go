package storetest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"freshet/store"
	"freshet/store/warc"
	"freshet/weburl"
)

// Refreshed is a small crawl that visits the same pages again and again, each with its own rate of change. A visit
// to an unchanged page writes a revisit record, as the engine does.
type Refreshed struct {
	T       testing.TB
	rng     *rand.Rand
	Pages   []weburl.URL
	rates   []float64 // chance that a page has changed since its last visit
	bodies  []string
	Minutes int
}

// NewRefreshed returns a crawl of that many pages.
func NewRefreshed(t testing.TB, pages int) *Refreshed {
	c := &Refreshed{T: t, rng: rand.New(rand.NewPCG(5, 5)), bodies: make([]string, pages)}
	for i := range pages {
		c.Pages = append(c.Pages, Parse(t, fmt.Sprintf("http://site%d.test/page/%d", i%5, i)))
		c.rates = append(c.rates, []float64{0, 0.02, 0.1, 0.5, 1}[i%5])
	}
	return c
}

// Visit fetches one page.
func (c *Refreshed) Visit(s *store.Store) {
	c.Minutes++
	i := c.rng.IntN(len(c.Pages))
	if c.rng.Float64() < 0.05 {
		Commit(c.T, s, Status(c.Pages[i], c.Minutes, 503))
		return
	}
	if c.bodies[i] == "" || c.rng.Float64() < c.rates[i] {
		raw := make([]byte, 500+c.rng.IntN(2500))
		for j := range raw {
			raw[j] = byte(c.rng.Uint32())
		}
		c.bodies[i] = hex.EncodeToString(raw)
		Commit(c.T, s, Answer(c.T, c.Pages[i], c.Minutes, c.bodies[i]))
		return
	}
	Commit(c.T, s, RevisitOf(c.T, s, c.Pages[i], c.Minutes, c.bodies[i]))
}

// RevisitOf returns a fetch that found a page's last version again.
func RevisitOf(t testing.TB, s *store.Store, u weburl.URL, minutes int, body string) store.Fetch {
	t.Helper()
	page, fp, err := s.PageOf(u)
	if err != nil {
		t.Fatal(err)
	}
	original, err := s.Version(Home(u), fp, page.Versions)
	if err != nil {
		t.Fatal(err)
	}
	f := Answer(t, u, minutes, body)
	record := &warc.Record{
		Type: warc.Revisit, Profile: warc.ProfileIdentical, Date: time.Unix(0, At(minutes)), TargetURI: u.String(),
		ContentType: warc.TypeResponse, PayloadDigest: original.BodyDigest, RefersTo: original.Capture.ID,
		RefersToURI: u.String(), RefersToDate: time.Unix(0, original.At), Block: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
	}
	record.Seal()
	member, err := warc.NewEncoder(warc.FastLevel).AppendMember(nil, record)
	if err != nil {
		t.Fatal(err)
	}
	f.Members, f.ID = [][]byte{member}, record.ID
	f.Record.(*store.Fetched).Revisit = true
	return f
}

// CheckReferences checks that every row's capture is readable (by Verify), that the target of every revisit record
// exists, and that the last version of every page is the page's last content.
func (c *Refreshed) CheckReferences(s *store.Store) {
	c.T.Helper()
	Verify(c.T, s)
	there, wanted := map[warc.ID]bool{}, map[warc.ID]string{}
	paths, err := s.Files()
	if err != nil {
		c.T.Fatal(err)
	}
	for _, path := range paths {
		r, err := warc.Open(s.Inside().FS, path)
		if err != nil {
			c.T.Fatal(err)
		}
		for {
			record, err := r.Next()
			if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) && strings.HasSuffix(path, ".open") {
				break
			}
			if err != nil {
				c.T.Fatal(err)
			}
			if there[record.ID] = true; record.Type == warc.Revisit {
				wanted[record.RefersTo] = record.TargetURI
			}
		}
		if err := r.Close(); err != nil {
			c.T.Fatal(err)
		}
	}
	for id, uri := range wanted {
		if !there[id] {
			c.T.Errorf("%s: a revisit refers to %v, which is gone", uri, id)
		}
	}
	for i, u := range c.Pages {
		page, fp, err := s.PageOf(u)
		if err != nil || page.Versions == 0 {
			continue
		}
		v, err := s.Version(Home(u), fp, page.Versions)
		if err != nil {
			c.T.Fatal(err)
		}
		if body, err := s.Body(v.Capture); err != nil || string(body.Payload) != c.bodies[i] {
			c.T.Errorf("%s: last version: %v", u, err)
		}
	}
}
