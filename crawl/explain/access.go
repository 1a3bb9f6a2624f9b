package explain

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"freshet/crawl/robots"
	"freshet/frontier"
	"freshet/store"
)

// robots adds what the robots.txt of the site says, or that it is not known.
func (x *explainer) robots(row Page, state store.RobotsState) error {
	detail := "robots.txt was not asked for yet"
	if state.Fetched != 0 {
		detail = fmt.Sprintf("robots.txt asked for %s: %s",
			date(state.Fetched), answer(state.Outcome, state.Status, state.Reason))
	}
	if state.Expires != 0 {
		detail += ", holds until " + date(state.Expires)
	}
	if state.Fetched == 0 {
		if !x.Robots.Holds(x.url.Site()) {
			x.say("robots", Waits, robots.ReasonRobots, detail)
			return nil
		}
		detail = "robots.txt was just read"
	}
	rules, err := x.Robots.Rules(x.url.Site())
	elsewhere := slices.IndexFunc(x.obstacles, func(o frontier.Obstacle) bool { return o.Gate == "robots-elsewhere" })
	switch {
	case err != nil:
		return err
	case elsewhere >= 0:
		x.say("robots", Waits, "robots-elsewhere", detail+"; its site "+waitsElsewhere(x.obstacles[elsewhere]))
	case row.RefusedByRobots && rules.Allowed(x.url):
		x.say("robots", Waits, row.Reason, detail+"; it was refused before, and is asked for again now that it is allowed")
	case row.RefusedByRobots:
		x.say("robots", Stopped, row.Reason, detail+"; it is asked for again once robots.txt allows it")
	case state.Fetched != 0 && state.Kept == 0 && state.Expires == 0:
		x.say("robots", Waits, robots.ReasonUnreachable, detail+"; nothing of the site is asked for until it can be fetched")
	case !rules.Allowed(x.url):
		x.say("robots", Stopped, rules.Reason(), detail)
	default:
		x.say("robots", Passed, "", detail)
	}
	return nil
}

// address adds whether the address guard refuses the page, or its site's robots.txt, which is requested first.
func (x *explainer) address(row Page, robots store.RobotsState) {
	switch {
	case row.Outcome == store.OutcomeDenied && row.Reason != store.ReasonType:
		x.say("address", Stopped, "private-address", row.Reason)
		return
	case robots.Outcome == store.OutcomeDenied && row.State == store.StateDenied:
		x.say("address", Stopped, "private-address", robots.Reason)
		return
	}
	addr, err := netip.ParseAddr(strings.Trim(x.url.Host(), "[]"))
	if err == nil && row.Queue != store.NoQueue && x.Guard != nil {
		if err := x.Guard(addr); err != nil {
			x.say("address", Stopped, "private-address", err.Error())
			return
		}
	}
	x.say("address", Passed, "", "")
}

// host adds what prevents requests to the host now.
func (x *explainer) host(pace store.Pace) {
	ordered := paceInWords(pace)
	for _, o := range x.obstacles {
		switch o.Gate {
		case "empty", "due", "unknown": // they are about pages, and this page's queue is known
			continue
		}
		checked := Checked{Gate: "host", Verdict: Waits, Reason: o.Gate,
			Detail: "nothing of " + x.url.Host() + " is asked for"}
		if o.Gate == "robots-elsewhere" {
			checked.Detail = waitsElsewhere(o)
		}
		if !o.Until.IsZero() {
			until := o.Until.UTC()
			checked.Until = &until
			checked.Detail += " until " + inWords(until)
		}
		checked.Detail += ordered
		x.out.Gates = append(x.out.Gates, checked)
	}
	if len(x.obstacles) == 0 {
		x.say("host", Passed, "", "it may be asked now"+ordered)
	}
}

// paceInWords says how fast an operator allows requests to a site, empty if no order says so.
func paceInWords(pace store.Pace) string {
	var least []string
	if pace.Delay > 0 {
		least = append(least, fmt.Sprintf("at least %v between two requests", time.Duration(pace.Delay)))
	}
	if pace.Budget > 0 {
		least = append(least, fmt.Sprintf("at most %d fetches a day", pace.Budget))
	}
	if len(least) == 0 {
		return ""
	}
	return "; by order, " + strings.Join(least, " and ")
}

// waitsElsewhere says what a site waits for whose robots.txt redirects to another host.
func waitsElsewhere(o frontier.Obstacle) string {
	if o.Away {
		return "waits for robots.txt of " + o.Host + " from another shard"
	}
	return "waits for robots.txt of " + o.Host
}
