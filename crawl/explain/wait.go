package explain

import (
	"fmt"
	"time"

	"freshet/store"
)

// crashes adds the unclean stops that happened while the page was being processed.
func (x *explainer) crashes(row Page) {
	switch {
	case row.Strikes == 0:
	case row.Strikes < x.MaxStrikes:
		x.say("crash", Passed, "", fmt.Sprintf("the last %d runs that processed it were cut off; after %d it is set aside",
			row.Strikes, x.MaxStrikes))
	default:
		x.say("crash", Stopped, store.ReasonCrashes,
			fmt.Sprintf("%d runs in a row were cut off while it was processed; recrawl lifts that", x.MaxStrikes))
	}
}

// batch adds whether the page waits for the next ranking, and when that is.
func (x *explainer) batch(row Page) {
	if x.Ranked == nil || row.Queue != store.NewQueue {
		return
	}
	when := "when the next run begins"
	if x.Ranking != nil {
		pages, ok := x.Ranking.Remaining()
		switch {
		case !ok:
			when = "which is under way"
		case pages == 0:
			when = "as soon as the links of the last ones fetched are decided"
		default:
			when = fmt.Sprintf("when %d more pages have been fetched", pages)
		}
	}
	if x.held = x.Ranked.Holds(row.Key.Order); x.held {
		x.say("batch", Waits, "next-batch", "it is not of the present batch; the next is chosen by ranking all pages, "+when)
		return
	}
	x.say("batch", Passed, "", "it has a place by its rank; pages are ranked again, "+when)
}

// queue adds the queue in which the page waits, and when it may be fetched.
func (x *explainer) queue(row Page) {
	var due time.Time
	switch row.Queue {
	case store.NoQueue:
		return
	case store.NewQueue:
		x.out.Gates = append(x.out.Gates, Checked{Gate: "queue", Verdict: Waits, Reason: "new",
			Detail: "among the new pages of its site"})
	case store.DueQueue:
		due = time.Unix(0, int64(row.Key.Order)).UTC()
		x.out.Gates = append(x.out.Gates, Checked{Gate: "queue", Verdict: Waits, Reason: "due",
			Detail: "due " + inWords(due), Until: &due})
	}
	for _, g := range x.out.Gates { // the last gate to open decides
		if g.Gate == "host" && g.Until != nil && g.Until.After(due) {
			due = *g.Until
		}
	}
	if !due.IsZero() {
		x.out.NextDue = &due
	}
}
