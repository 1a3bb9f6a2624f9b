package explain

import (
	"fmt"
	"slices"

	"freshet/crawl/robots"
	"freshet/store"
)

// refresh returns when a stored page that is kept fresh is worth a visit again, and why.
func (x *explainer) refresh(p Visits, row Page) string {
	stored := fmt.Sprintf("It is stored: version %d, last changed %s. ", row.Versions, date(row.LastChanged))
	if p.Reading {
		const reading = "the crawl has just started, and still reads the stored visits"
		x.say("refresh", Passed, "reading", reading)
		return stored + "When it is visited again is not known yet: " + reading + "."
	}
	belief := fmt.Sprintf("%.3g changes a day are expected; the copy is stale with probability %.2f",
		p.RatePerDay, p.Stale)
	detail := fmt.Sprintf("%s; a visit now is worth %.3g, and pages are visited at %.3g", belief, p.Value, p.Bar)
	if p.Bar == 0 {
		detail = belief + "; when it is visited is up to the policy"
	}
	x.say("refresh", Passed, "kept-fresh", detail)
	if g, closed := x.closed(); closed {
		x.out.NextDue = g.Until
		return stored + "It is not visited again for now (" + g.Reason + "): " + g.Detail + "."
	}
	x.out.NextDue = p.NextDue
	if p.NextDue == nil {
		return stored + "It is kept fresh: " + belief + "."
	}
	return stored + "It will be worth a visit about " + inWords(*p.NextDue) + ": " + belief + "."
}

// refuse are the gates that refuse a page before it is requested.
var refuse = []string{"scope", "guard", "address", "robots"}

// ended says what became of a page in no queue that has no copy to be served.
var ended = map[store.State]string{
	store.StatePending: "It was not fetched", store.StateRedirect: "It redirects to another page",
	store.StateMissing: "There is no such page", store.StateError: "Its answer was an error",
	store.StateUnreached: "It was not reached", store.StateGone: "It is gone", store.StateMoved: "It has moved",
	store.StatePurged: "It is purged",
}

// fate returns a sentence that sums up the result.
func (x *explainer) fate(row Page) string {
	if row.Queue != store.NoQueue {
		for _, g := range x.out.Gates {
			switch {
			case g.Gate == "robots" && g.Reason == "robots-elsewhere":
				return "The robots.txt of its site redirects to another host, and the page waits for the answer from there."
			case g.Gate == "robots" && g.Reason == robots.ReasonUnreachable:
				return "The robots.txt of its site cannot be fetched. " +
					"It is asked for again with growing waits, and the page waits for it."
			}
		}
		if x.held {
			return "It waits for the next batch."
		}
		turn := "It waits for its turn"
		if slices.ContainsFunc(x.out.Gates, func(g Checked) bool { return g.Verdict == Stopped && slices.Contains(refuse, g.Gate) }) {
			turn = "It is refused when its turn comes"
		}
		if x.out.NextDue == nil {
			return turn + "."
		}
		if row.FailedInRow > 0 {
			return "The last request failed; it is tried again, not before " + inWords(*x.out.NextDue) + "."
		}
		return turn + ", at " + inWords(*x.out.NextDue) + " or later."
	}
	if row.Strikes >= x.MaxStrikes {
		return "It is set aside, as the crawl ended without warning each time that it was processed. A recrawl lifts that."
	}
	switch row.State {
	case store.StateLive:
		return fmt.Sprintf("It is stored: version %d, last changed %s. It is not due again.",
			row.Versions, date(row.LastChanged))
	case store.StateWithdrawn:
		return "It is stored and no longer served: " + row.Reason + "."
	case store.StateDenied:
		return denied(row.Reason)
	}
	return ended[row.State] + ", and it is not due again."
}

// denied says why a page without a version was refused.
func denied(reason string) string {
	switch reason {
	case robots.ReasonRobots:
		return "robots.txt forbids it."
	case store.ReasonType:
		return "Its content type is not wanted."
	}
	return "It was refused: " + reason + "."
}
