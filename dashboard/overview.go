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
		{Title: "Requests a second", unit: amount, Lines: []line{
			rate("answered", past, func(m reading) int64 { return m.fetched }),
			rate("failed", past, func(m reading) int64 { return m.failed })}},
		{Title: "Pages that wait", unit: amount, Lines: []line{level("queued", past, func(m reading) float64 { return float64(m.queued) })}},
	}, most(n.Errors, 8), most(n.Refused, 8), most(n.States, 12)}, nil
}

// verdict is what a look at the numbers comes to.
type verdict struct {
	Kind string // "well", "wait" or "ill"
	Text string
}

// judged are how many of the last requests a verdict on failures rests on.
const judged = 20

// settled is how long a run has to go on before its pace says when the disk will be full.
const settled = 10 * time.Minute

// judge says in a sentence whether a crawl is well. What is worst is told.
func judge(n now, past []reading, ready func() error) verdict {
	if !n.running() {
		text := fmt.Sprintf("No crawl runs here. %s of %s are known.", units.Plural(n.Known, "page"), units.Plural(n.Sites, "site"))
		if !n.CleanStop {
			return verdict{"wait", text + " The last run was cut off; the next goes on from there."}
		}
		return verdict{"wait", text}
	}
	if ready != nil {
		if err := ready(); err != nil {
			return verdict{"ill", "It does not work: " + err.Error() + "."}
		}
	}
	answered, failed := lately(past)
	switch {
	case n.Trouble != nil && n.Pages == 0:
		return verdict{"ill", sentence("Nothing has been stored yet: "+n.Trouble.Cause) + " " + sentence(n.Trouble.Remedy)}
	case n.DurationS >= settled.Seconds() && n.DiskFullS > 0 && n.DiskFullS < (24*time.Hour).Seconds():
		return verdict{"ill", fmt.Sprintf("The disk will be full in %s at this pace.", seconds(n.DiskFullS))}
	case len(n.Background) > 0:
		return verdict{"ill", "Work beside the crawl fails: " + strings.Join(slices.Sorted(maps.Keys(n.Background)), ", ") + "."}
	case n.State == "paused":
		return verdict{"wait", "It is paused: nothing is asked for."}
	case n.State == "stopping":
		return verdict{"wait", "It is stopping."}
	case answered+failed >= judged && failed*2 > answered+failed:
		return verdict{"ill", fmt.Sprintf("%.0f %% of the last requests failed.", 100*float64(failed)/float64(answered+failed)) + mostOften(n.Errors)}
	case answered+failed >= judged && failed*5 > answered+failed:
		return verdict{"wait", fmt.Sprintf("It works, but %.0f %% of the last requests failed.", 100*float64(failed)/float64(answered+failed)) + mostOften(n.Errors)}
	case n.fetched() == 0 && n.Failed == 0:
		return verdict{"wait", "It has just begun."}
	case n.Refresh != nil:
		return verdict{"well", fmt.Sprintf("All is well: %.1f %% of %s are believed to be up to date.", 100*n.Refresh.Freshness, units.Plural(n.Refresh.Pages, "page"))}
	case n.QueuedNew+n.QueuedDue == 0:
		return verdict{"well", "All is well, and nothing is left to fetch."}
	}
	return verdict{"well", fmt.Sprintf("All is well: %s pages a second.", amount(n.RecentPagesS))}
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

func mostOften(errors map[string]int64) string {
	all := most(errors, 1)
	if len(all) == 0 {
		return ""
	}
	return " Most often: " + all[0].Name + "."
}

// counted is a name and how often it has come.
type counted struct {
	Name  string
	Count int64
	Share float64 // of the most often one
}

// most returns the names that have come most often.
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
	add("Pages known", units.Count(n.Known))
	add("Sites", units.Count(n.Sites))
	if !n.running() {
		add("Versions", units.Count(n.Versions))
		add("Size of all versions", units.Bytes(n.BodyBytes))
		return facts
	}
	add("Stored by this run", units.Plural(n.Pages, "page")+", "+units.Plural(n.Requisites, "requisite"))
	add("Failed", units.Count(n.Failed))
	add("Queued", units.Count(n.QueuedNew+n.QueuedDue))
	if n.Refresh == nil {
		add("Time left", left(n))
	}
	add("Received", fmt.Sprintf("%s, %s/s", units.Bytes(n.Bytes), units.Bytes(int64(n.RecentBytesS))))
	if n.DiskFree > 0 {
		add("Disk free", units.Bytes(n.DiskFree))
	}
	if n.Memory.Budget > 0 {
		add("Memory", fmt.Sprintf("%s of %s", units.Bytes(n.Memory.Used), units.Bytes(n.Memory.Budget)))
	}
	if f := n.Refresh; f != nil {
		add("Budget spent", fmt.Sprintf("%s of %s", units.Count(f.Requests), units.Count(f.Budget)))
	}
	add("Runs for", seconds(n.DurationS))
	return facts
}

// left says how long a crawl that ends will go on.
func left(n now) string {
	switch {
	case n.RemainingS >= longest:
		return "not known yet"
	case n.LatestS >= longest || n.LatestS < 1.2*n.RemainingS:
		return seconds(n.RemainingS)
	}
	return fmt.Sprintf("%s, at most %s", seconds(n.RemainingS), seconds(n.LatestS))
}
