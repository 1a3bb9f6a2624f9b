package explain

import (
	"errors"
	"fmt"

	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// unknown explains a URL without a row: a link to it was found and refused, or none was found or looked for.
func (x *explainer) unknown() (Explanation, error) {
	link, carried, all := weburl.Link{URL: x.url}, false, false
	if !x.Unsearched {
		var err error
		if link, carried, all, err = x.Rows.Link(x.url); err != nil {
			return x.out, err
		}
	}
	reason, ok, err := x.Scope.Admits(link)
	if err != nil {
		return x.out, err
	}
	if !ok {
		x.say("scope", Stopped, reason.String(), x.outside(reason, link.Rel))
		return x.conclude("It does not belong to the crawl."), nil
	}
	x.say("scope", Passed, "", "scope "+x.ScopeName)
	pages := 0
	row, err := x.Rows.Site(x.url.Site())
	if err == nil {
		pages = int(row.Pages)
	} else if !errors.Is(err, store.ErrNotFound) {
		return x.out, fmt.Errorf("crawl: explain %s: %w", x.url, err)
	}
	if reason, ok := x.Scope.Limits(link, pages, x.now); !ok {
		x.say("guard", Stopped, reason.String(), fmt.Sprintf("%d links and %d redirects from a seed; its site has %d pages",
			link.Depth, link.Hops, pages))
		return x.conclude("A limit keeps it out of the crawl: " + reason.String() + "."), nil
	}
	x.say("guard", Passed, "", "")
	if carried {
		x.say("seen", Waits, "undecided", "a stored page links to it")
		return x.conclude("A stored page links to it; whether it is new is about to be decided."), nil
	}
	if x.Unsearched {
		x.say("seen", Stopped, "unknown", "")
		return x.conclude("No page that links to it was looked for: freshet explain does that."), nil
	}
	if !all {
		x.say("seen", Stopped, "unknown", "no link to it in the stored pages that were looked at")
		return x.conclude("No seed names it. A part of the stored pages was looked at, and none of them links to it."), nil
	}
	x.say("seen", Stopped, "unknown", "no stored page links to it")
	return x.conclude("No stored page links to it, and no seed names it."), nil
}

// outside returns what keeps the URL out of the scope.
func (x *explainer) outside(reason frontier.Reason, rel weburl.Rel) string {
	switch reason {
	case frontier.Excluded:
		return "a pattern of the rules excludes it"
	case frontier.OptedOut:
		return "it is in the list of those who opted out"
	case frontier.Requisite:
		return "only a page needs it, and --requisites is none"
	}
	if rel == weburl.RelEmbed {
		return "a page needs it, and --requisites all would have it; scope " + x.ScopeName + " has no page of " + string(x.url.Site())
	}
	return "scope " + x.ScopeName + " does not take in " + string(x.url.Site())
}

// inside adds whether a known page belongs to the crawl now. A stored page in no queue stays where it is, unless a
// pattern excludes it.
func (x *explainer) inside(row Page) error {
	reason, ok, err := x.Scope.Keeps(row.Page)
	if err != nil {
		return err
	}
	gate, detail := "scope", ""
	if reason == frontier.TooDeep || reason == frontier.TooManyRedirects {
		gate, detail = "guard", fmt.Sprintf("%d links and %d redirects from a seed", row.Depth, row.Hops)
	} else if !ok {
		detail = x.outside(reason, row.Rel)
	}
	waits := row.Queue != store.NoQueue || row.OutOfCrawl
	if !ok && !waits && reason != frontier.Excluded && reason != frontier.OptedOut {
		ok = true
	}
	for _, g := range []string{"scope", "guard"} {
		switch {
		case !ok && g == gate:
			x.say(g, Stopped, reason.String(), detail)
		case ok && row.OutOfCrawl && g == "scope":
			x.say(g, Waits, row.Reason,
				"it was refused for that; a run that begins with another scope than the last asks for it")
		default:
			x.say(g, Passed, "", "when it was discovered")
		}
	}
	return nil
}

func (x *explainer) discovery(row Page) string {
	detail := fmt.Sprintf("known since %s as %s, %s, %d links and %d redirects from a seed",
		date(row.FirstSeen), row.State, row.Rel, row.Depth, row.Hops)
	if row.Via == "" {
		return detail
	}
	return detail + ", through " + row.Via
}
