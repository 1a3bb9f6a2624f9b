package explain

import (
	"errors"
	"fmt"
	"time"

	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// Explain explains a URL as the user gave it. It returns an error if a row cannot be read or an option is wrong.
func (a About) Explain(raw string, now time.Time) (Explanation, error) {
	x := explainer{About: a, now: now}
	return x.explain(raw)
}

// explainer asks the gates about one URL.
type explainer struct {
	About
	now time.Time

	url  weburl.URL
	held bool // until the next batch
	hops int  // redirects that led here

	obstacles []frontier.Obstacle // to requests to the site, if the page waits for one
	out       Explanation
}

func (x *explainer) explain(raw string) (Explanation, error) {
	x.out.URL = raw
	u, err := weburl.Parse(raw)
	if err != nil {
		x.say("syntax", Stopped, "invalid-url", err.Error())
		return x.conclude("It is not a URL that can be crawled. Such a URL begins with http:// or https://."), nil
	}
	x.url, x.out.URL = u, u.String()
	x.say("syntax", Passed, "", "")
	row, err := x.Rows.Page(u)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return x.unknown()
	case err != nil:
		return x.out, fmt.Errorf("crawl: explain %s: %w", u, err)
	}
	return x.known(row)
}

func (x *explainer) say(gate string, verdict Verdict, reason, detail string) {
	x.out.Gates = append(x.out.Gates, Checked{Gate: gate, Verdict: verdict, Reason: reason, Detail: detail})
}

// conclude finds the gate that decided and returns the explanation.
func (x *explainer) conclude(why string) Explanation {
	x.out.Why = why
	for _, verdict := range []Verdict{Stopped, Waits} {
		for _, g := range x.out.Gates {
			if g.Verdict == verdict && x.out.StoppedBy == "" {
				x.out.StoppedBy, x.out.Reason = g.Gate, g.Reason
			}
		}
	}
	return x.out
}

// known explains a page that has a row.
func (x *explainer) known(row Page) (Explanation, error) {
	if err := x.inside(row); err != nil {
		return x.out, err
	}
	x.say("seen", Passed, "", x.discovery(row))
	site, err := x.Rows.Site(x.url.Site())
	if err != nil {
		return x.out, fmt.Errorf("crawl: explain %s: %w", x.url, err)
	}
	visits, kept := x.visits(row)
	waits := row.Queue != store.NoQueue || kept
	if waits {
		if x.obstacles, err = x.Hosts.Obstacles(x.url.Site(), x.now); err != nil {
			return x.out, err
		}
	}
	x.address(row, site.Robots)
	if err := x.robots(row, site.Robots); err != nil {
		return x.out, err
	}
	x.crashes(row)
	x.batch(row)
	if waits {
		x.host(site.Pace)
	}
	x.fetch(row, site.Validators)
	x.retries(row)
	x.queue(row)
	fate := x.fate(row)
	if kept {
		fate = x.refresh(visits, row)
	}
	x.out.Trouble = x.trouble(row, site)
	return x.conclude(fate), nil
}

// visits returns the belief about a page that is kept fresh and is in no queue.
func (x *explainer) visits(row Page) (v Visits, kept bool) {
	if x.Keeper == nil || row.Queue != store.NoQueue {
		return v, false
	}
	return x.Keeper.Visits(row.URL)
}
