package node

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"freshet/clock"
	"freshet/extract"
	"freshet/fetch"
	"freshet/seen"
	"freshet/store"
	"freshet/store/warc"
	"freshet/weburl"
)

// BenchmarkStage measures the cost of each stage of a page of 20 KB with 40 links. BenchmarkCommit measures the
// store's part there.
func BenchmarkStage(b *testing.B) {
	page := newStagePage(b)
	b.Run("dns", page.dns)
	b.Run("connect", page.connect)
	b.Run("read", page.read)
	b.Run("digest", func(b *testing.B) {
		b.SetBytes(int64(len(page.body) + len(page.response)))
		for b.Loop() {
			warc.DigestOf(page.body)     // of the body
			warc.DigestOf(page.response) // of the record's block
		}
	})
	b.Run("parse", func(b *testing.B) {
		parser := extract.NewParser(extract.Options{})
		b.SetBytes(int64(len(page.body)))
		for b.Loop() {
			if n := len(parser.Extract(page.header, page.body, page.url).Links); n != stageLinks {
				b.Fatal(n)
			}
		}
	})
	b.Run("canonicalise", func(b *testing.B) {
		for b.Loop() {
			for _, ref := range page.references {
				u, err := page.url.Parse(ref)
				if err != nil {
					b.Fatal(err)
				}
				u.Fingerprint()
			}
		}
	})
	b.Run("seen", page.seen)
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			store.EncodeLinks(page.links)
		}
	})
	b.Run("compress", page.compress)
}

const stageLinks = 40

// stagePage is a page as its server, and as every stage has it.
type stagePage struct {
	address        string
	url            weburl.URL
	header         http.Header
	response, body []byte
	references     []string
	links          []store.OutLink
}

// newStagePage makes a page of words drawn as unevenly as those of a language, and serves it.
func newStagePage(b *testing.B) *stagePage {
	p := &stagePage{header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}}
	rng := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 2000)
	for i := range words {
		words[i] = strings.ToLower(fmt.Sprintf("%c%x", 'a'+rng.IntN(26), rng.Uint32N(1<<(4+4*rng.IntN(5)))))
	}
	var text strings.Builder
	text.WriteString("<!DOCTYPE html><html><head><title>A page</title></head><body>\n")
	for i := range stageLinks {
		p.references = append(p.references, fmt.Sprintf("/archive/%s-%d.html", words[rng.IntN(len(words))], i))
		fmt.Fprintf(&text, "<p class=\"text\"><a href=\"%s\">next</a>", p.references[i])
		for range 75 {
			fmt.Fprintf(&text, " %s", words[int(float64(len(words))*rng.Float64()*rng.Float64()*rng.Float64())])
		}
		text.WriteString("</p>\n")
	}
	p.body = []byte(text.String() + "</body></html>\n")
	p.response = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", len(p.body), p.body)
	p.serve(b)
	var err error
	if p.url, err = weburl.Parse("http://" + p.address + "/"); err != nil {
		b.Fatal(err)
	}
	for _, ref := range p.references {
		u, err := p.url.Parse(ref)
		if err != nil {
			b.Fatal(err)
		}
		p.links = append(p.links, store.OutLink{URL: u, Rel: weburl.RelAnchor})
	}
	return p
}

// serve answers every request with the page, doing as little as can be done.
func (p *stagePage) serve(b *testing.B) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { listener.Close() })
	p.address = listener.Addr().String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for {
					line, err := in.ReadSlice('\n')
					if err != nil {
						return
					}
					if len(line) > len("\r\n") {
						continue
					}
					if _, err := conn.Write(p.response); err != nil {
						return
					}
				}
			}()
		}
	}()
}

func (p *stagePage) fetcher(b *testing.B) *fetch.Fetcher {
	f, err := fetch.New(fetch.Options{Clock: clock.Real(), UserAgent: "freshet-bench", AllowPrivate: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f
}

// dns finds the address of a name in the cache.
func (p *stagePage) dns(b *testing.B) {
	f := p.fetcher(b)
	for b.Loop() {
		if r := f.Resolve(b.Context(), "localhost", 80); r.Outcome != fetch.Answered {
			b.Fatal(r.Err)
		}
	}
}

// connect opens a connection over loopback and closes it.
func (p *stagePage) connect(b *testing.B) {
	for b.Loop() {
		conn, err := net.Dial("tcp", p.address)
		if err != nil {
			b.Fatal(err)
		}
		conn.Close()
	}
}

// read asks for the page on a connection that is kept; the server's time is included.
func (p *stagePage) read(b *testing.B) {
	f := p.fetcher(b)
	for b.Loop() {
		r := f.Fetch(b.Context(), fetch.Request{URL: p.url, KeepAlive: true})
		if r.Outcome != fetch.Answered || r.BodyLen != len(p.body) {
			b.Fatal(r.Outcome, r.Err)
		}
		r.Drop()
	}
}

// seen takes the page's links through the seen test, drains of the set on disk included. One link is new; the others
// are among the last 20,000.
func (p *stagePage) seen(b *testing.B) {
	test, err := seen.Open(b.TempDir(), seen.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer test.Close()
	rng := rand.New(rand.NewPCG(3, 4))
	fingerprint := func(n uint64) weburl.Fingerprint { return weburl.Fingerprint(rand.NewPCG(n, 1).Uint64() | 1) }
	links := make([]weburl.Link, stageLinks)
	var verdicts []seen.Verdict
	now := time.Unix(0, 0)
	for n := uint64(1); b.Loop(); n++ {
		for i := range links {
			links[i] = weburl.Link{URL: p.links[i].URL, Fingerprint: fingerprint(n - rng.Uint64N(min(n, 20_000))), Depth: 1}
		}
		links[0].Fingerprint = fingerprint(n)
		now = now.Add(time.Millisecond) // a thousand pages a second
		err := test.Offer(seen.Mark{Record: n}, links, now)
		if errors.Is(err, seen.ErrFull) || err == nil && test.Due(now, 0) {
			if verdicts, _, err = test.Drain(verdicts[:0]); err == nil {
				err = test.Keep()
			}
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// compress makes the three members of a page's capture. Their digests are known.
func (p *stagePage) compress(b *testing.B) {
	encoder := warc.NewEncoder(warc.FastLevel)
	request := []byte("GET / HTTP/1.1\r\nHost: " + p.address + "\r\nUser-Agent: freshet\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Encoding: gzip, br\r\n\r\n")
	records := []*warc.Record{
		{Type: warc.Request, Date: time.Unix(0, 0), TargetURI: p.url.String(), ContentType: warc.TypeRequest, Block: request},
		{Type: warc.Response, Date: time.Unix(0, 0), TargetURI: p.url.String(), ContentType: warc.TypeResponse, Block: p.response, PayloadDigest: warc.DigestOf(p.body)},
		{Type: warc.Metadata, Date: time.Unix(0, 0), TargetURI: p.url.String(), ContentType: warc.TypeFields, Block: []byte("hopsFromSeed: 1\r\nfetchTimeMs: 3\r\n")},
	}
	for _, r := range records {
		r.Seal()
	}
	size := 0
	b.SetBytes(int64(len(p.response)))
	for b.Loop() {
		size = 0
		for _, r := range records {
			member, err := encoder.AppendMember(nil, r)
			if err != nil {
				b.Fatal(err)
			}
			size += len(member)
		}
	}
	b.ReportMetric(float64(size), "bytes")
}
