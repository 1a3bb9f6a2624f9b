package plan

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/cmd/freshet/table"
	"freshet/memory"
	"freshet/schedule"
)

// scheduleColumns are the columns of a table of tasks.
var scheduleColumns = []string{"id", "time_s", "kind", "forbidden", "crawlers", "site"}

// fleetFlag is the flag of crawlers × slots: 10x1000000,2x500000.
type fleetFlag []schedule.Crawlers

// Set reads the flag's text.
func (f *fleetFlag) Set(text string) error {
	var fleet fleetFlag
	for part := range strings.SplitSeq(text, ",") {
		count, slots, ok := strings.Cut(part, "x")
		c, err := strconv.Atoi(count)
		n, err2 := strconv.Atoi(slots)
		if !ok || err != nil || err2 != nil || c < 0 || n < 0 {
			return fmt.Errorf("%q: want crawlers x slots each, such as 10x1000000,2x500000", part)
		}
		fleet = append(fleet, schedule.Crawlers{Count: c, Slots: n})
	}
	*f = fleet
	return nil
}

// String returns the fleet as Set reads it.
func (f *fleetFlag) String() string {
	var parts []string
	for _, c := range *f {
		parts = append(parts, fmt.Sprintf("%dx%d", c.Count, c.Slots))
	}
	return strings.Join(parts, ",")
}

// Type names the flag's kind in help texts.
func (*fleetFlag) Type() string { return "CRAWLERSxSLOTS" }

// count returns the number of crawlers.
func (f *fleetFlag) count() int {
	n := 0
	for _, c := range *f {
		n += c.Count
	}
	return n
}

// slotBytes is about the memory that a slot takes while tasks are scheduled.
const slotBytes = 100

// fits returns an error if the slots take more memory than the process may use. root holds the files of the machine.
func (f *fleetFlag) fits(root fs.FS) error {
	slots := 0.0
	for _, c := range *f {
		slots += float64(c.Count) * float64(c.Slots)
	}
	if limit := memory.Limit(root); limit > 0 && slots > float64(limit/slotBytes) {
		return fmt.Errorf("%.0f slots take about %d bytes each, and the machine or its cgroup has %d MiB: want at most %d slots",
			slots, slotBytes, limit>>20, limit/slotBytes)
	}
	return nil
}

// slotsOf returns the slots of a crawler.
func (f *fleetFlag) slotsOf(crawler int32) int {
	before := 0
	for _, c := range *f {
		if before += c.Count; int(crawler) < before {
			return c.Slots
		}
	}
	panic(fmt.Sprintf("crawler %d of %d", crawler, before))
}

// A scheduleOutcome is what the command says, as JSON or in words.
type scheduleOutcome struct {
	Tasks        int     `json:"tasks"`
	Slots        int     `json:"slots"`
	Scheduled    int     `json:"scheduled"`
	Unscheduled  int     `json:"unscheduled"`
	CostS        float64 `json:"cost_s"`
	LowerBoundS  float64 `json:"lower_bound_s"`       // the least cost without windows, crawlers and spacing
	MaxDeviation float64 `json:"max_deviation_slots"` // in slots of the crawler that has the task
	DurationS    float64 `json:"duration_s"`          // of scheduling, without reading and writing
}

type scheduleOptions struct {
	planning
	tasks    string
	crawlers fleetFlag
	spacing  command.Duration
	sequence sequenceOptions
}

func scheduleCommand() *cobra.Command {
	var o scheduleOptions
	cmd := &cobra.Command{
		Use: "schedule --tasks FILE --crawlers CRAWLERSxSLOTS | --sequence KIND --pages FILE", Short: "Compute when to make each visit of a plan", Args: command.NoArgs,
		Long: "Reads tasks with ideal times, and gives each a slot of a crawler so that as many as possible are served and\n" +
			"the sum of the distances to the ideal times is least. FILE is CSV with a header, - for standard input:\n\n" +
			"  id         required, each one once\n" +
			"  time_s     required: ideal time, in seconds from the interval's start\n" +
			"  kind       ordinary (default), or release: not before its time\n" +
			"  forbidden  windows in which it must not start: from-to in seconds, separated by ;\n" +
			"  crawlers   the only ones that may serve it, numbered from 0, separated by ;\n" +
			"  site       with --spacing: crawls of a site start at least so far apart\n\n" +
			"The result is exact, except with --spacing, where the lower bound says how far it may be from the best. The out\n" +
			"file is CSV: id, crawler, start_s, deviation_s, of which the last three are empty for a task without a slot.\n\n" +
			"With --sequence it reads pages instead, and finds the best order in which one crawler visits them without a pause:\n" +
			"golden (by the golden ratio), balanced (by regular words), apart (no page a whole visit ahead or behind), or\n" +
			"randomized. The out file has the url of each visit of a cycle; the cost is the sum, over the pages, of weight ×\n" +
			"share of time out of date, beside what no order beats. Without weights a page weighs its changes a second.",
		Example: "  freshet schedule --tasks tasks.csv --crawlers 10x1000000,2x500000 --out slots.csv\n  freshet schedule --tasks - --crawlers 1x24 --interval 24h --json < tasks.csv\n  freshet schedule --sequence balanced --pages pages.csv --access-time 2s --out order.csv",
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.tasks, "tasks", "", "CSV file of tasks, - for standard input (required)")
	f.Var(&o.crawlers, "crawlers", "crawlers x slots of each in the interval, separated by commas (required)")
	o.declare(f, "slots")
	f.Var(&o.spacing, "spacing", "least time between the starts of two crawls of a site")
	o.sequence.flags(f)
	return cmd
}

func (o *scheduleOptions) run(cmd *cobra.Command) error {
	if o.sequence.kind != "" {
		return o.sequence.run(cmd, o.out, o.asJSON)
	}
	switch {
	case o.tasks == "":
		return command.Usage(errors.New("--tasks is needed"))
	case len(o.crawlers) == 0:
		return command.Usage(errors.New("--crawlers is needed"))
	}
	if err := o.planning.validate(); err != nil {
		return command.Usage(err)
	}
	if err := o.crawlers.fits(os.DirFS("/")); err != nil {
		return command.Usage(fmt.Errorf("--crawlers: %w", err))
	}
	slots, err := schedule.Slots(o.crawlers, time.Duration(o.interval).Seconds())
	if err != nil {
		return command.Usage(fmt.Errorf("--crawlers: %w", err))
	}
	tasks, err := o.read(cmd.InOrStdin())
	if err != nil {
		return err
	}
	watch := clock.Real()
	start := watch.Now()
	result, bound := o.solve(tasks, slots)
	outcome := o.outcome(tasks, slots, result)
	outcome.LowerBoundS = bound
	outcome.DurationS = watch.Now().Sub(start).Seconds()
	if o.out != "" {
		err := command.WriteTo(o.out, cmd.OutOrStdout(), func(w io.Writer) error { return tasks.write(w, slots, result) })
		if err != nil {
			return err
		}
	}
	words := command.Beside(cmd, o.out)
	if o.asJSON {
		return json.NewEncoder(words).Encode(outcome)
	}
	_, err = fmt.Fprintf(words, "%d of %d tasks in %d slots, %.10g s from their ideal times in all (at least %.10g s), at most %.4g slots\n",
		outcome.Scheduled, outcome.Tasks, outcome.Slots, outcome.CostS, outcome.LowerBoundS, outcome.MaxDeviation)
	return err
}

// solve schedules the tasks, and returns the cost without windows, crawlers and spacing as well.
func (o *scheduleOptions) solve(t *scheduleTasks, slots []schedule.Slot) (result schedule.Schedule, bound float64) {
	result = schedule.Solve(t.tasks, slots)
	bound = result.Cost
	switch {
	case o.spacing > 0:
		result = schedule.Spaced(t.tasks, slots, t.rules(), t.sites, time.Duration(o.spacing).Seconds())
	case t.restricted:
		result = schedule.Restricted(t.tasks, slots, t.rules())
	}
	return result, bound
}

func (o *scheduleOptions) outcome(t *scheduleTasks, slots []schedule.Slot, result schedule.Schedule) scheduleOutcome {
	interval := time.Duration(o.interval).Seconds()
	outcome := scheduleOutcome{Tasks: len(t.tasks), Slots: len(slots), Scheduled: result.Placed,
		Unscheduled: len(t.tasks) - result.Placed, CostS: result.Cost}
	for i, at := range result.Slot {
		if at >= 0 {
			deviation := math.Abs(slots[at].Start-t.tasks[i].Ideal) * float64(o.crawlers.slotsOf(slots[at].Crawler)) / interval
			outcome.MaxDeviation = math.Max(outcome.MaxDeviation, deviation)
		}
	}
	return outcome
}

// scheduleTasks are the tasks of a table.
type scheduleTasks struct {
	ids        []string
	tasks      []schedule.Task
	sites      []int32 // or -1
	rule       []func(schedule.Slot) bool
	restricted bool
}

// rules returns the tasks' rules, nil if none has one.
func (t *scheduleTasks) rules() []func(schedule.Slot) bool {
	if !t.restricted {
		return nil
	}
	return t.rule
}

func (t *scheduleTasks) write(w io.Writer, slots []schedule.Slot, s schedule.Schedule) error {
	buffered := bufio.NewWriter(w)
	out := csv.NewWriter(buffered)
	fault := out.Write([]string{"id", "crawler", "start_s", "deviation_s"})
	seconds := func(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }
	for i, id := range t.ids {
		row := []string{id, "", "", ""}
		if at := s.Slot[i]; at >= 0 {
			row = []string{id, strconv.Itoa(int(slots[at].Crawler)), seconds(slots[at].Start), seconds(slots[at].Start - t.tasks[i].Ideal)}
		}
		fault = errors.Join(fault, out.Write(row))
	}
	out.Flush()
	return errors.Join(fault, out.Error(), buffered.Flush())
}

// read reads the tasks.
func (o *scheduleOptions) read(in io.Reader) (*scheduleTasks, error) {
	t, err := table.Open(o.tasks, in, scheduleColumns, "id", "time_s")
	if err != nil {
		return nil, err
	}
	defer t.Close()
	s := &scheduleTasks{}
	seen, sites := map[string]int{}, map[string]int32{}
	for {
		more, err := t.Next()
		if err != nil || !more {
			return s, err
		}
		if err := o.readTask(t, s, seen, sites); err != nil {
			return nil, err
		}
	}
}

// readTask adds a row.
func (o *scheduleOptions) readTask(t *table.Table, s *scheduleTasks, seen map[string]int, sites map[string]int32) error {
	id := strings.Clone(t.Text("id"))
	if id == "" {
		return t.Fault("id", "no id")
	}
	if err := t.Unique("id", id, seen); err != nil {
		return err
	}
	ideal, err := t.Number("time_s", math.NaN(), 0, time.Duration(o.interval).Seconds())
	if err != nil {
		return err
	}
	if math.IsNaN(ideal) {
		return t.Fault("time_s", "no time_s")
	}
	kind := t.Text("kind")
	if kind != "" && kind != "ordinary" && kind != "release" {
		return t.Fault("kind", "kind %q: want ordinary or release", kind)
	}
	rule, err := o.readRule(t)
	if err != nil {
		return err
	}
	site := int32(-1)
	if name := t.Text("site"); name != "" {
		number, known := sites[name]
		if !known {
			number = int32(len(sites))
			sites[strings.Clone(name)] = number
		}
		site = number
	}
	s.ids = append(s.ids, id)
	s.tasks = append(s.tasks, schedule.Task{Ideal: ideal, Release: kind == "release"})
	s.sites, s.rule = append(s.sites, site), append(s.rule, rule)
	s.restricted = s.restricted || rule != nil
	return nil
}

// readRule returns which slots the row's task may have, nil for all.
func (o *scheduleOptions) readRule(t *table.Table) (func(schedule.Slot) bool, error) {
	var windows [][2]float64
	if text := t.Text("forbidden"); text != "" {
		for part := range strings.SplitSeq(text, ";") {
			from, to, ok := strings.Cut(part, "-")
			low, err := strconv.ParseFloat(strings.TrimSpace(from), 64)
			high, err2 := strconv.ParseFloat(strings.TrimSpace(to), 64)
			if !ok || err != nil || err2 != nil || !(low < high) {
				return nil, t.Fault("forbidden", "forbidden %q: want from-to in seconds, from before to", part)
			}
			windows = append(windows, [2]float64{low, high})
		}
	}
	var crawlers []int32
	if text := t.Text("crawlers"); text != "" {
		count := o.crawlers.count()
		for part := range strings.SplitSeq(text, ";") {
			n, err := strconv.Atoi(strings.TrimSpace(part))
			if err != nil || n < 0 || n >= count {
				return nil, t.Fault("crawlers", "crawler %q: want a number from 0 to %d", part, count-1)
			}
			crawlers = append(crawlers, int32(n))
		}
	}
	if windows == nil && crawlers == nil {
		return nil, nil
	}
	return func(s schedule.Slot) bool {
		for _, w := range windows {
			if s.Start >= w[0] && s.Start < w[1] {
				return false
			}
		}
		return crawlers == nil || slices.Contains(crawlers, s.Crawler)
	}, nil
}
