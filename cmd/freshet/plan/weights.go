package plan

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/cmd/freshet/command"
	"freshet/cmd/freshet/table"
	"freshet/weburl"
	"freshet/weights"
)

// queryColumns are the columns of a log of queries, weightColumns those of a table of weights.
var (
	queryColumns  = []string{"query", "url", "page", "position", "clicked", "changed", "answer", "time", "event", "words", "version"}
	weightColumns = []string{"url", "weight"}
)

// usualStrength is the default of --strength.
const usualStrength = 2

// A weightsOutcome is what the command says, as JSON or in words.
type weightsOutcome struct {
	Queries           int          `json:"queries"`
	Pages             int          `json:"pages"`
	EmbarrassmentRate float64      `json:"embarrassments_per_query"`
	Outcomes          weights.Tree `json:"outcomes"`
	NewPage           float64      `json:"new_page_weight"`
}

type weightsOptions struct {
	log, out string
	mix      []string
	strength float64
	asJSON   bool
}

func weightsCommand() *cobra.Command {
	var o weightsOptions
	cmd := &cobra.Command{
		Use: "weights --log FILE", Short: "Compute how much each page matters, from searches and clicks", Args: command.NoArgs,
		Long: "Reads a log of queries, and weighs each page by how often a stale copy of it would embarrass: it is returned, is\n" +
			"clicked, and no longer answers the query. FILE is CSV with a header, - for standard input, or Parquet. A row is\n" +
			"one page of one query, and the rows of a query follow one another:\n\n" +
			"  query     required: which query, any text\n" +
			"  url       required\n" +
			"  page      result page on which the query returned it, from 1; empty: not returned\n" +
			"  position  place on that page, from 1; empty: not returned\n" +
			"  clicked   1 if the user clicked, default 0\n" +
			"  changed   1 if the page had changed since it was copied, 0 if not; empty: not known\n" +
			"  answer    for a clicked page that had changed: right, wrong or broken; empty: not known\n" +
			"  time      when the query was asked, such as 2026-01-31T12:00:00Z or in seconds since 1970; without it the\n" +
			"            log counts as one day\n" +
			"  event     click: the page of an earlier row, at this query and place, was clicked;\n" +
			"            such a row may be anywhere; default shown\n" +
			"  words, version  what was asked, and the number of the version that answered; not needed here\n\n" +
			"freshet crawl --query-log keeps such a log of its own search, a file a day.\n\n" +
			"Pages with little data are drawn towards the mean, by --strength. --mix FILE:SHARE mixes in weights from a CSV\n" +
			"file of url and weight, each source first scaled to mean 1; a page that is not in a source gets its\n" +
			"mean. The out file is CSV: url, weight, for plan --weights. A crawl takes the log itself: --weights clicks:FILE.",
		Example: "  freshet weights --log queries.csv --out weights.csv\n  freshet weights --log queries.csv --mix importance.csv:0.3 --json --out weights.csv\n  freshet plan --pages pages.csv --weights weights.csv --budget 1000",
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.log, "log", "", "CSV or Parquet file of queries, - for CSV from standard input (required)")
	f.Float64Var(&o.strength, "strength", usualStrength, "how much the data of all other pages counts for a page, in observations of its own")
	f.StringArrayVar(&o.mix, "mix", nil, "FILE:SHARE, weights to mix in and their share of the whole; may be repeated")
	f.StringVar(&o.out, "out", "-", "CSV file to write the weights to, - for standard output")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	return cmd
}

func (o *weightsOptions) run(cmd *cobra.Command) error {
	if o.log == "" {
		return command.Usage(errors.New("--log is needed"))
	}
	if !(o.strength > 0) || math.IsInf(o.strength, 1) {
		return command.Usage(fmt.Errorf("--strength %v: want a number above 0", o.strength))
	}
	sources, own, err := o.sources()
	if err != nil {
		return command.Usage(err)
	}
	log, urls, err := readQueries(o.log, cmd.InOrStdin())
	if err != nil {
		return err
	}
	estimate := log.Estimate(o.strength)
	all := make([]float64, len(urls))
	for i := range all {
		all[i] = estimate.Weight(i)
	}
	if len(sources) > 0 {
		if all, err = mixWeights(urls, all, own, sources); err != nil {
			return err
		}
	}
	err = command.WriteTo(o.out, cmd.OutOrStdout(), func(w io.Writer) error { return writeWeights(w, urls, all) })
	if err != nil {
		return err
	}
	outcome := weightsOutcome{log.Queries(), len(urls), log.Rate(), log.Tree(), estimate.New()}
	words := command.Beside(cmd, o.out)
	if o.asJSON {
		return json.NewEncoder(words).Encode(outcome)
	}
	tree := outcome.Outcomes
	_, err = fmt.Fprintf(words, "%d queries, %d pages, %.6g embarrassments a query\n"+
		"fresh %d; stale: %d not returned, %d not clicked, %d still right, %d wrong, %d broken links, %d not judged; %d of unknown state\n",
		outcome.Queries, outcome.Pages, outcome.EmbarrassmentRate,
		tree.Fresh, tree.NotReturned, tree.NotClicked, tree.Right, tree.Wrong, tree.Broken, tree.Unjudged, tree.Unknown)
	return err
}

// A weightSource is a file of weights and its share.
type weightSource struct {
	file  string
	share float64
}

// sources returns what --mix says, and the share that is left for the log.
func (o *weightsOptions) sources() (sources []weightSource, own float64, err error) {
	own = 1
	for _, mix := range o.mix {
		colon := strings.LastIndexByte(mix, ':')
		if colon <= 0 {
			return nil, 0, fmt.Errorf("--mix %q: want FILE:SHARE", mix)
		}
		share, err := strconv.ParseFloat(mix[colon+1:], 64)
		if err != nil || !(share > 0 && share <= 1) {
			return nil, 0, fmt.Errorf("--mix %q: share %q: want a number above 0, at most 1", mix, mix[colon+1:])
		}
		own -= share
		sources = append(sources, weightSource{mix[:colon], share})
	}
	if own < -1e-12 {
		return nil, 0, fmt.Errorf("--mix: shares add up to %v: want at most 1", 1-own)
	}
	return sources, math.Max(0, own), nil
}

// mixWeights mixes the log's weights with those of files.
func mixWeights(urls []string, all []float64, own float64, sources []weightSource) ([]float64, error) {
	parts := []weights.Part{{Weights: all, Share: own}}
	for _, s := range sources {
		found, err := ReadWeights(s.file, nil)
		if err != nil {
			return nil, err
		}
		part := weights.Part{Weights: make([]float64, len(urls)), Share: s.share}
		for i, url := range urls {
			w, known := found[url]
			if !known {
				w = math.NaN()
			}
			part.Weights[i] = w
		}
		parts = append(parts, part)
	}
	return weights.Mix(parts...)
}

// readQueries reads a log, in for "-"; URLs are numbered in the order in which they come up.
func readQueries(file string, in io.Reader) (*weights.Log, []string, error) {
	t, err := table.Open(file, in, queryColumns, "query", "url")
	if err != nil {
		return nil, nil, err
	}
	defer t.Close()
	var l ClickLog
	err = l.take(t)
	return &l.log, l.urls, err
}

// A ClickLog reads logs of queries. The zero value is empty.
type ClickLog struct {
	log     weights.Log
	urls    []string // in the order in which they came up
	numbers map[string]int
	query   string // the last
}

// Read reads a log in CSV. Errors use name. Rows before a fault count.
func (l *ClickLog) Read(name string, in io.Reader) error {
	t, err := table.Read(name, in, ',', queryColumns, "query", "url")
	if err != nil {
		return err
	}
	return l.take(t)
}

// take reads the rows of a table.
func (l *ClickLog) take(t *table.Table) error {
	for {
		more, err := t.Next()
		if err != nil || !more {
			return err
		}
		if err := l.row(t); err != nil {
			return err
		}
	}
}

// row reads a row.
func (l *ClickLog) row(t *table.Table) error {
	s, err := readSighting(t)
	if err != nil {
		return err
	}
	url := t.Text("url")
	page, known := l.numbers[url]
	s.Page = page
	switch event := t.Text("event"); event {
	case "", "shown":
	case "click":
		if s.Clicked = true; !known || !l.log.Click(s) {
			return t.Fault("event", "a click, but no row before it has the page there, shown and not clicked")
		}
		return nil
	default:
		return t.Fault("event", "event %q: want shown, click or nothing", event)
	}
	if q := t.Text("query"); q != l.query || l.log.Queries() == 0 {
		l.query = strings.Clone(q)
		l.log.Query()
		if err := readTime(t, &l.log); err != nil {
			return err
		}
	}
	if !known {
		s.Page = l.enter(url)
	}
	l.log.Add(s)
	return nil
}

// enter gives a new URL its number.
func (l *ClickLog) enter(url string) int {
	if l.numbers == nil {
		l.numbers = map[string]int{}
	}
	url = strings.Clone(url)
	l.numbers[url], l.urls = len(l.urls), append(l.urls, url)
	return len(l.urls) - 1
}

// readTime reads when a query was asked, if the row says so.
func readTime(t *table.Table, log *weights.Log) error {
	text := t.Text("time")
	if text == "" {
		return nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		log.At(float64(at.UnixNano()) / 1e9)
		return nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) || math.Abs(seconds) > 1e12 {
		return t.Fault("time", "time %q: want one such as 2026-01-31T12:00:00Z, or seconds since 1970", text)
	}
	log.At(seconds)
	return nil
}

// readSighting reads a row except for its page.
func readSighting(t *table.Table) (s weights.Sighting, err error) {
	if t.Text("url") == "" {
		return s, t.Fault("url", "no url")
	}
	page, err := t.Whole("page", 0, 1, math.MaxInt32)
	if err != nil {
		return s, err
	}
	position, err := t.Whole("position", 0, 1, math.MaxInt32)
	if err != nil {
		return s, err
	}
	if (page == 0) != (position == 0) {
		return s, t.Fault("position", "page %q and position %q: want both, or neither for a page that was not returned", t.Text("page"), t.Text("position"))
	}
	s.Slot = weights.Slot{Page: int32(page), Position: int32(position)}
	clicked, err := t.Whole("clicked", 0, 0, 1)
	if err != nil {
		return s, err
	}
	s.Clicked = clicked == 1
	if s.Clicked && page == 0 {
		return s, t.Fault("clicked", "clicked, but not returned")
	}
	changed, err := t.Whole("changed", -1, 0, 1)
	if err != nil {
		return s, err
	}
	s.State = []weights.State{weights.Unknown, weights.Fresh, weights.Stale}[changed+1]
	switch answer := t.Text("answer"); answer {
	case "":
	case "right":
		s.Answer = weights.Right
	case "wrong":
		s.Answer = weights.Wrong
	case "broken":
		s.Answer = weights.Broken
	default:
		return s, t.Fault("answer", "answer %q: want right, wrong, broken or nothing", answer)
	}
	return s, nil
}

func writeWeights(w io.Writer, urls []string, all []float64) error {
	buffered := bufio.NewWriter(w)
	out := csv.NewWriter(buffered)
	fault := out.Write(weightColumns)
	for i, url := range urls {
		fault = errors.Join(fault, out.Write([]string{url, strconv.FormatFloat(all[i], 'g', 10, 64)}))
	}
	out.Flush()
	return errors.Join(fault, out.Error(), buffered.Flush())
}

// maxWeight is the largest weight. A crawl adds up weights of 32 bits.
const maxWeight = 1e30

// ReadWeights reads a table of weights, each URL once.
func ReadWeights(file string, in io.Reader) (map[string]float64, error) {
	t, err := table.Open(file, in, weightColumns, weightColumns...)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	found, seen := map[string]float64{}, map[string]int{}
	for {
		more, err := t.Next()
		if err != nil || !more {
			return found, err
		}
		url := strings.Clone(t.Text("url"))
		if err := t.Unique("url", url, seen); err != nil {
			return nil, err
		}
		weight, err := t.Number("weight", math.NaN(), 0, maxWeight)
		if err != nil {
			return nil, err
		}
		if math.IsNaN(weight) {
			return nil, t.Fault("weight", "no weight")
		}
		found[url] = weight
	}
}

// Clicks are the weights that a log of queries gives the pages, on average 1.
type Clicks struct {
	Pages         map[string]float64 // by URL
	Other         float64            // of a page that the log does not have
	Embarrassment float64            // queries a day that one stale copy of weight 1 embarrasses; 0: nothing was shown
}

// Of returns the weight of a page.
func (c *Clicks) Of(u weburl.URL) float64 {
	if w, known := c.Pages[u.String()]; known {
		return w
	}
	return c.Other
}

// ClickWeights reads a log of queries. A page that it does not have weighs as one that was not there yet.
func ClickWeights(file string) (*Clicks, error) {
	t, err := table.Open(file, nil, queryColumns, "query", "url")
	if err != nil {
		return nil, err
	}
	defer t.Close()
	var l ClickLog
	if err := l.take(t); err != nil {
		return nil, err
	}
	return l.clicks(0), nil
}

// leastClicked is what the least clicked page weighs in times the mean, so that no page is given up.
const leastClicked = 0.05

// Learned returns the weights from a log that reaches until now, for that many pages. A page that is not in the log
// counts as never shown. No page weighs less than a twentieth of the mean.
func (l *ClickLog) Learned(now time.Time, pages int64) *Clicks {
	l.log.Until(float64(now.UnixNano()) / 1e9)
	l.log.Known(int(pages))
	return l.clicks(leastClicked)
}

func (l *ClickLog) clicks(least float64) *Clicks {
	estimate, known := l.log.Estimate(usualStrength), len(l.urls)
	c := &Clicks{Pages: make(map[string]float64, known), Other: estimate.New()}
	mean, all := 0.0, float64(l.log.Pages())
	for i := range known {
		mean += estimate.Weight(i) / all
	}
	if known < l.log.Pages() {
		c.Other = estimate.Weight(known)
		mean += c.Other * (all - float64(known)) / all
	}
	if mean == 0 { // nothing was shown
		return &Clicks{Other: 1}
	}
	for i, url := range l.urls {
		c.Pages[url] = max(least, estimate.Weight(i)/mean)
	}
	c.Other = max(least, c.Other/mean)
	c.Embarrassment = mean * l.log.PerDay()
	return c
}
