package trial

import (
	"fmt"
	"strings"

	"freshet/crawl"
	"freshet/store"
)

// described returns an event in the form of a trace.
func described(e crawl.Event) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", e), "shard.")
	switch e := e.(type) {
	case crawl.End:
		return fmt.Sprintf("%s %s", name, e.Reason)
	case crawl.Room:
		return fmt.Sprintf("%s %d", name, e.Turns)
	case crawl.Resolved:
		return fmt.Sprintf("%s %d %v", name, e.Turn, e.Address)
	case crawl.Ended:
		return fmt.Sprintf("%s %d given=%d failed=%v kept=%v retry-after=%v", name, e.Turn, e.Given, e.Failed, e.Kept, e.RetryAfter)
	case crawl.Processed:
		if e.Page == nil {
			return fmt.Sprintf("%s %d", name, e.Turn)
		}
		return fmt.Sprintf("%s %d %v %d, %d links", name, e.Turn, e.Page.Outcome, e.Page.Status, len(e.Links))
	case crawl.Appended:
		return fmt.Sprintf("%s %d and %d moves, %d purged", name, len(e.Turns), len(e.Others), e.Purged)
	case crawl.Decided:
		return fmt.Sprintf("%s %d verdicts, marks %v, durable %v", name, len(e.Verdicts), e.Marks, e.Durable)
	case crawl.Ordered:
		return fmt.Sprintf("%s %d", name, e.Number)
	case crawl.Weighed:
		return fmt.Sprintf("%s %d", name, len(e.Ranks))
	case crawl.Sorted:
		return fmt.Sprintf("%s %v", name, e.Places != nil)
	}
	return name
}

func describedOrder(o crawl.Order) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", o), "shard.")
	if o, ok := o.(crawl.Reload); ok {
		return fmt.Sprintf("%s delay %v", name, o.Settings.Delay)
	}
	return fmt.Sprintf("%s %v", name, o)
}

// recordsOf returns the records that are appended together.
func recordsOf(a crawl.Append) string {
	var b strings.Builder
	if a.Turn != 0 {
		fmt.Fprintf(&b, "%d:", a.Turn)
	}
	if a.Purge != nil {
		fmt.Fprintf(&b, " purge %s", a.Purge)
	}
	for _, r := range a.Records {
		name := strings.TrimPrefix(fmt.Sprintf("%T", r), "*store.")
		switch r := r.(type) {
		case *store.Fetched:
			fmt.Fprintf(&b, " %s %s %d retry=%v", name, r.URL, r.Status, r.RetryAt != 0)
		case *store.Robots:
			fmt.Fprintf(&b, " %s %s %d keep=%v", name, r.Site, r.Status, r.Keep)
		case *store.Discovered:
			fmt.Fprintf(&b, " %s %d new, %d repeats", name, len(r.New), len(r.Repeats))
		case *store.Refused:
			fmt.Fprintf(&b, " %s %s %s", name, r.URL, r.Reason)
		case *store.Planned:
			fmt.Fprintf(&b, " %s %v", name, r.Fingerprint)
		case *store.Mark:
			fmt.Fprintf(&b, " %s %s %d/%d", name, r.Consumer, r.Partition, r.Record)
		default:
			fmt.Fprintf(&b, " %s", name)
		}
	}
	return b.String()
}
