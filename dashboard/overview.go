package dashboard

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"freshet/dashboard/units"
)

// overview shows whether all is well.
func (s *server) overview(*http.Request) (any, error) {
	n, err := readNow(s.reader)
	if err != nil {
		return nil, err
	}
	past := s.trend.past()
	third := receivedChart(past)
	if n.Refresh != nil {
		third = chart{Title: "Copies estimated up to date", scale: shares, most: 1, Lines: []line{
			level("all pages", keptFresh(past), func(m reading) float64 { return m.fresh })}}
	}
	return struct {
		Now     now
		Running bool
		Verdict verdict
		Facts   []Row
		Charts  []chart
		Errors  []counted
		Refused []counted
		States  []counted
	}{n, n.running(), judge(n, past, s.ready), overviewFacts(n), []chart{
		{Title: "Requests", scale: paces, Lines: []line{
			rate("answered", past, func(m reading) int64 { return m.fetched }),
			rate("failed", past, func(m reading) int64 { return m.failed })}},
		{Title: "Pages pending", scale: numbers, Lines: []line{level("pending", past, func(m reading) float64 { return float64(m.pending) })}},
		third,
	}, most(n.Errors, 8), most(n.Refused, 8), states(n)}, nil
}

// receivedChart shows the bytes received.
func receivedChart(past []reading) chart {
	return chart{Title: "Received", scale: speeds, Lines: []line{rate("received", past, func(m reading) int64 { return m.bytes })}}
}

// meanings explain the states of pages.
var meanings = map[string]string{
	"pending": "not visited yet", "live": "stored, and still there", "redirect": "leads to another page", "moved": "moved to another page",
	"missing": "no such page (404 or 410)", "gone": "stored, and no longer there", "error": "the site answers with an error",
	"unreached": "no answer ever came", "denied": "forbidden, by the site or by a rule", "withdrawn": "stored, and no longer shown",
	"purged": "taken down by an operator",
}

// states returns how many pages are in each state, and what that means.
func states(n now) []counted {
	all := most(n.States, len(meanings))
	for i := range all {
		all[i].Means = meanings[all[i].Name]
	}
	return all
}

// verdict is a judgement on some numbers, in a sentence.
type verdict struct {
	Kind string // "well", "wait", "ill", or "" if there is nothing to judge
	Text string
	Link string // of the pane that says what to do; empty: nothing needs to be done
	Does string // the words of the link
}

// troubled returns a verdict with a link to the pane that says what helps against failures.
func troubled(kind, text string) verdict {
	return verdict{Kind: kind, Text: text, Link: "/trouble", Does: "See what helps"}
}

// judged is how many of the last requests a verdict on failures uses.
const judged = 20

// settled is how long a run must last before its pace predicts when the disk will be full.
const settled = 10 * time.Minute

// judge says in a sentence whether a crawl is well. It reports the worst problem.
func judge(n now, past []reading, ready func() error) verdict {
	if !n.running() {
		kind, text := "", fmt.Sprintf("No crawl is running. %s on %s are known.", units.Plural(n.Known, "page"), units.Plural(n.Sites, "site"))
		if !n.CleanStop {
			kind, text = "wait", text+" The last run was cut off. The next one continues from there."
		}
		return verdict{Kind: kind, Text: text}
	}
	if ready != nil {
		if err := ready(); err != nil {
			return verdict{Kind: "ill", Text: sentence("The crawl does not work: " + err.Error())}
		}
	}
	answered, failed := lately(past)
	switch {
	case n.Trouble != nil && n.Pages == 0:
		return verdict{Kind: "ill", Text: sentence("Nothing has been stored yet: "+n.Trouble.Cause) + " " + sentence(capital(n.Trouble.Remedy))}
	case n.DurationS >= settled.Seconds() && n.DiskFullS > 0 && n.DiskFullS < (24*time.Hour).Seconds():
		return verdict{Kind: "ill", Text: fmt.Sprintf("The disk will be full in %s at this pace. Free some space, or limit what is kept with --keep.", seconds(n.DiskFullS))}
	case len(n.Background) > 0:
		return verdict{Kind: "ill", Text: "Background work fails: " + strings.Join(slices.Sorted(maps.Keys(n.Background)), ", ") + ". The log says why."}
	case n.State == "paused":
		return verdict{Kind: "wait", Text: "The crawl is paused. No requests are made until you resume it."}
	case n.State == "stopping":
		return verdict{Kind: "wait", Text: "The crawl is stopping."}
	case answered+failed >= judged && failed*2 > answered+failed:
		return troubled("ill", failing("", answered, failed, n.Errors))
	case answered+failed >= judged && failed*5 > answered+failed:
		return troubled("wait", failing("The crawl works, but ", answered, failed, n.Errors))
	case n.Known == 0 && n.DurationS >= 10:
		return verdict{Kind: "wait", Text: "No page is known yet. Name the first ones with freshet add URL, or in a file with --seeds."}
	case n.fetched() == 0 && n.Failed == 0:
		return verdict{Text: "The crawl has just begun."}
	case n.Refresh != nil && n.Refresh.unspent():
		return verdict{Kind: "wait", Text: fmt.Sprintf("Only %s of %s were made in the last interval, while %s waited for their site. "+
			"A site is asked more often with a shorter --delay, and not at all while it is paused or blocked.", units.Count(n.Refresh.Last), units.Plural(n.Refresh.Budget, "budgeted request"),
			units.Plural(int64(n.Refresh.Waiting), "visit")), Link: "/sites?sort=due&backward=true", Does: "See the sites"}
	case n.Refresh != nil:
		return verdict{Kind: "well", Text: fmt.Sprintf("All is well. An estimated %s of %s are up to date.", percent(n.Refresh.Freshness), units.Plural(n.Refresh.Pages, "page"))}
	case n.QueuedNew+n.QueuedDue == 0:
		return verdict{Kind: "well", Text: "All is well. Nothing is left to fetch."}
	case n.QueuedNew == 0:
		return verdict{Kind: "well", Text: fmt.Sprintf("All is well. Every page was visited, and %s due again.", units.Plural(n.QueuedDue, "page"))}
	case n.RecentPagesS == 0:
		return verdict{Kind: "well", Text: fmt.Sprintf("All is well. Every site is waiting out its delay, with %s pending.", units.Plural(n.QueuedNew, "page"))}
	}
	return verdict{Kind: "well", Text: fmt.Sprintf("All is well. Pages are stored at %s, with %s pending.", pace(n.RecentPagesS), units.Count(n.QueuedNew))}
}

func sentence(text string) string {
	if text = strings.TrimSpace(text); text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// lately returns how many of the last requests were answered, and how many failed.
func lately(past []reading) (answered, failed int64) {
	if len(past) < 2 {
		return 0, 0
	}
	last := past[len(past)-1]
	for i := len(past) - 2; i >= 0 && answered+failed < 5*judged; i-- {
		answered, failed = last.fetched-past[i].fetched, last.failed-past[i].failed
	}
	return answered, failed
}

// failing says how many of the last requests failed, and the most frequent reason.
func failing(before string, answered, failed int64, errors map[string]int64) string {
	return before + fmt.Sprintf("%.0f %% of the last requests failed.", 100*float64(failed)/float64(answered+failed)) + mostOften(errors)
}

// capital begins a sentence.
func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func mostOften(errors map[string]int64) string {
	all := most(errors, 1)
	if len(all) == 0 {
		return ""
	}
	return " Most often: " + titleOf(all[0].Name) + "."
}

// counted is a name and how often it occurred.
type counted struct {
	Name  string
	Count int64
	Share float64 // of the most frequent one
	Means string
}

// most returns the most frequent names.
func most(of map[string]int64, n int) []counted {
	var all []counted
	for name, count := range of {
		if count > 0 {
			all = append(all, counted{Name: name, Count: count})
		}
	}
	slices.SortFunc(all, func(x, y counted) int {
		if x.Count != y.Count {
			return int(max(-1, min(1, y.Count-x.Count)))
		}
		return strings.Compare(x.Name, y.Name)
	})
	all = all[:min(n, len(all))]
	for i := range all {
		all[i].Share = float64(all[i].Count) / float64(all[0].Count)
	}
	return all
}

// overviewFacts are the numbers of an overview.
func overviewFacts(n now) (facts []Row) {
	add := func(name, value string) { facts = append(facts, Row{name, value}) }
	add("Known pages", units.Count(n.Known))
	add("Sites", units.Count(n.Sites))
	if !n.running() {
		add("Stored versions", units.Count(n.Versions))
		add("Size of all versions", units.Bytes(n.BodyBytes))
		return facts
	}
	if n.Refresh == nil {
		add("Pages stored in this run", units.Count(n.Pages))
		add("Requisites stored", units.Count(n.Requisites))
	} else { // which visits a page again and again
		add("Visits in this run", units.Count(n.fetched()+n.Requisites))
	}
	add("Failed requests", units.Count(n.Failed))
	add("Pages pending", units.Count(n.QueuedNew))
	if n.QueuedDue > 0 && n.Refresh == nil { // else the pane of freshness has them
		add("Pages due again", units.Count(n.QueuedDue))
	}
	if n.Refresh == nil {
		add("Time left", left(n))
	}
	add("Received", units.Bytes(n.Bytes))
	add("Receiving now", units.Bytes(int64(n.RecentBytesS))+"/s")
	if n.DiskFree > 0 {
		add("Disk free", units.Bytes(n.DiskFree))
	}
	if n.Memory.Budget > 0 {
		add("Memory", fmt.Sprintf("%s of %s", units.Bytes(n.Memory.Used), units.Bytes(n.Memory.Budget)))
	}
	if f := n.Refresh; f != nil {
		add("Budget spent", fmt.Sprintf("%s of %s", units.Count(f.Requests), units.Count(f.Budget)))
	}
	add("Running for", seconds(n.DurationS))
	return facts
}

// left says how long a crawl that ends will still run.
func left(n now) string {
	switch {
	case n.RemainingS >= longest:
		return "not known yet"
	case n.LatestS >= longest || n.LatestS <= 1.2*n.RemainingS:
		return seconds(n.RemainingS)
	}
	return fmt.Sprintf("%s, at most %s", seconds(n.RemainingS), seconds(n.LatestS))
}
