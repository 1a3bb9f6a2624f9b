package trial

import (
	"cmp"
	"fmt"
	"slices"

	"freshet/crawl"
	"freshet/crawl/discovery"
	"freshet/store"
	"freshet/store/warc"
	"freshet/weburl"
)

// process queues an answer for a worker.
func (n *node) process(p crawl.Process) {
	e := n.turns[p.Turn]
	if e == nil || !e.ended || e.process.Turn != 0 {
		n.fail("turns", "turn %d is to be processed at a wrong moment", p.Turn)
	}
	e.process = p
	n.waiting = append(n.waiting, e)
	n.work()
	n.makeRoom()
}

// makeRoom stops handing out turns while too many answers wait.
func (n *node) makeRoom() {
	if full := len(n.waiting) > 20 || n.full && len(n.waiting) > 5; full != n.full {
		n.full = full
		n.soon(0, func() { n.tell(crawl.Room{Turns: n.room()}) })
	}
}

func (n *node) room() int {
	if n.full {
		return 0
	}
	return n.c.Crawl.Room
}

// work gives free workers answers.
func (n *node) work() {
	for n.working < n.c.Crawl.Workers {
		i := slices.IndexFunc(n.waiting, func(e *errand) bool { return !e.process.Alone || !n.alone })
		if i < 0 {
			return
		}
		e := n.waiting[i]
		n.waiting = slices.Delete(n.waiting, i, i+1)
		n.working++
		n.alone = n.alone || e.process.Alone
		e.inProcess = true
		n.soon(n.some(n.c.Crawl.ProcessTook, "process", int(e.Turn)), func() {
			n.working--
			if e.process.Alone {
				n.alone = false
			}
			e.processed = true
			n.tell(n.learn(e))
			if n.trial.node == n {
				n.work()
				n.makeRoom()
			}
		})
	}
}

// learn processes an answer as a worker does.
func (n *node) learn(e *errand) crawl.Processed {
	p := e.process
	if p.Robots != nil {
		return crawl.Processed{Turn: e.Turn, Bytes: 100}
	}
	a := &e.answer
	r := &store.Fetched{
		URL: p.URL, At: n.timeOf(e.started).UnixNano(), End: n.timeOf(e.ends).UnixNano(), Outcome: n.outcome(e),
		Status: a.status, Reason: e.failed, Unconditional: p.Audit, ContentType: a.contentType, Size: int64(len(a.body)),
		WireBytes: 100, TotalNs: int64(e.ends - e.started), ETag: a.etag, NoFollow: a.noFollow, NoArchive: a.noArchive,
	}
	done := crawl.Processed{Turn: e.Turn, Page: r, Bytes: 100, Class: cmp.Or(e.failed, fmt.Sprint(a.status))}
	links := a.links
	switch {
	case r.Outcome == store.OutcomeStored:
		r.BodyDigest = digest(a.body)
		copy(r.TextDigest[:], r.BodyDigest[:])
		r.TextVersion = 1
	case !a.redirect.IsZero():
		r.Redirect, r.Permanent = a.redirect, a.permanent
		links = []store.OutLink{{URL: a.redirect, Rel: weburl.RelRedirect}}
	default:
		return done
	}
	r.Links = store.EncodeLinks(links)
	if !r.NoFollow {
		done.Links = discovery.PageLinks(links, p.Row)
		discovery.Share(n.settings.Ordering, p.URL, done.Links)
	}
	if n.plant == "link-dropped" && len(done.Links) > 1 && n.draw("drop", int(e.Turn)) < 0.3 {
		done.Links = done.Links[1:]
	}
	return done
}

// members returns the captures of a page.
func (n *node) members(e *errand) [][]byte {
	if e.answer.body == "" || e.answer.noArchive || e.Robots {
		return nil
	}
	member, err := n.encoder.AppendMember(nil, &warc.Record{
		Type: warc.Response, Date: n.timeOf(e.started), TargetURI: e.URL.String(), ContentType: warc.TypeResponse,
		Block: []byte("HTTP/1.1 200 OK\r\n\r\n" + e.answer.body),
	})
	n.must(err)
	return [][]byte{member}
}
