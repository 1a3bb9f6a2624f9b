package main

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"freshet/cmd/freshet/command"
)

// withoutJSON are the commands that have no --json, and why.
var withoutJSON = map[string]string{
	"cat":               "prints the bytes of a version",
	"help":              "is for people",
	"cluster drain":     "prints nothing",
	"cluster rebalance": "prints nothing",
	"cluster dev":       "prints what its nodes say",
}

// printed is a command with --json, its exit code, and the keys of the last line that it prints; none: it prints
// nothing.
type printed struct {
	args string
	code int
	keys string
}

// printsJSON has a line for each command. All run in the folder that scene has prepared.
var printsJSON = map[string]printed{
	"add":   {args: "add http://site.test/x", keys: "pages"},
	"block": {args: "block blocked.test", keys: "pages"},
	// Nobody listens there.
	"cluster status":  {args: "cluster status --nats nats://127.0.0.1:1", code: command.ExitFailed},
	"config show":     {args: "config show", keys: "*"},
	"config validate": {args: "config validate empty.yaml", keys: "file valid"},
	"crawl":           {args: "crawl --data crawled", keys: "*"},
	"demo":            {args: "demo --sites 2 --pages 40 --for 1d --seeds= --data demo", code: command.ExitLimit, keys: "*"},
	"doctor":          {args: "doctor --contact mailto:a@b.test", keys: "check found result"},
	"explain":         {args: "explain http://site.test/", keys: "*"},
	"export":          {args: "export --cdxj i.cdxj --warc copies --text t.jsonl --sitemap s.xml", keys: "form path size_bytes"},
	"fleet dynamic":   {args: "fleet dynamic --arrival-rate 1 --service-rate 2 --queue 3 --gamma 1 --crawlers 2", keys: "*"},
	"fleet static":    {args: "fleet static --arrival-rate 1 --service-rate 2 --queue 3 --gamma 1", keys: "*"},
	"history":         {args: "history http://site.test/", keys: "page versions visits"},
	"import":          {args: "import --data taken urls.csv", keys: "file pages_queued skipped visits"},
	"lab list":        {args: "lab list", keys: "name reproduces summary"},
	"lab report":      {args: "lab report --out report --quick --only queue --quiet", keys: "duration_s experiments file"},
	"lab run queue":   {args: "lab run queue --runs 2 --quiet", keys: "*"},
	"migrate":         {args: "migrate", keys: "from_format to_format"},
	"pages":           {args: "pages", keys: "*"},
	"pace":            {args: "pace http://site.test --budget 9", keys: "pages"},
	"pause":           {args: "pause", keys: "pages"},
	"plan":            {args: "plan --pages pages.csv --budget 4", keys: "*"},
	"purge":           {args: "purge http://site.test/ --page --dry-run", keys: "pages"},
	"recrawl":         {args: "recrawl http://site.test/", keys: "pages"},
	"reload":          {args: "reload --data served", keys: "*"},
	"restore":         {args: "restore --data restored copy", keys: "data size_bytes"},
	"resume":          {args: "resume", keys: "pages"},
	"robots":          {args: "robots --file robots.txt http://site.test/", keys: "allowed crawl_delay_s url"},
	"schedule":        {args: "schedule --tasks tasks.csv --crawlers 1x3 --interval 1h", keys: "*"},
	"search":          {args: "search home --data searched", keys: "*"},
	"seen":            {args: "seen --trace real-14.u64.zst --policy clock --size 64", keys: "hits miss_rate misses requests"},
	"segments take":   {args: "segments take --data moved", keys: "data files segments size_bytes"},
	"serve":           {args: "serve --config empty.yaml --data second --for 300ms", code: command.ExitLimit, keys: "*"},
	"snapshot":        {args: "snapshot copy", keys: "data size_bytes snapshot"},
	"status":          {args: "status", keys: "*"},
	"subscribe":       {args: "subscribe ADDR --once --quiet", keys: "changes mirror"},
	"text":            {args: "text http://site.test/", keys: "*"},
	"unblock":         {args: "unblock blocked.test", keys: "pages"},
	"url":             {args: "url http://site.test/", keys: "canonical fingerprint input partition site surt"},
	"verify":          {args: "verify", keys: "problems repairs"},
	"version":         {args: "version", keys: "*"},
	"view":            {args: "view --listen 127.0.0.1:0 --for 300ms", keys: "data url"},
	"weights":         {args: "weights --log queries.csv --out w.csv", keys: "*"},
}

// TestJSON holds that every command that prints something can print it as JSON, an object a line, with keys in snake
// case. Commands that look in or steer print the same keys whether a crawl runs in the directory or not.
func TestJSON(t *testing.T) {
	address := scene(t)
	put(t, "robots.txt", "User-agent: *\nCrawl-delay: 2\n")
	freshet(t, 0, "crawl", "--data", "moved", "--segments", "shelf")
	var names []string
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		below := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return c.Name() == "help" })
		for _, c := range below {
			visit(c)
		}
		name := strings.TrimPrefix(cmd.CommandPath(), "freshet ")
		has := cmd.Flags().Lookup("json") != nil
		switch {
		case len(below) > 0, strings.HasPrefix(name, "completion"), strings.HasPrefix(name, "docs"):
			// it is run by none but those below it, by shells, or by us
		case withoutJSON[name] != "":
			if has {
				t.Errorf("%s has --json, though it %s", name, withoutJSON[name])
			}
		case !has:
			t.Errorf("%s has no --json", name)
		case strings.HasPrefix(name, "lab run ") && name != "lab run queue": // all are one command
		default:
			names = append(names, name)
		}
	}
	visit(newRoot())
	slices.Sort(names)
	// A command comes after those that it depends on. Orders come last.
	slices.SortStableFunc(names, func(x, y string) int { return slices.Index(lastOfJSON, x) - slices.Index(lastOfJSON, y) })
	for _, name := range names {
		row, ok := printsJSON[name]
		if !ok {
			t.Errorf("%s has no line in the table", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			out, _ := freshet(t, row.code, append(strings.Fields(strings.ReplaceAll(row.args, "ADDR", address)), "--json")...)
			keys := keysOf(t, out)
			if got := strings.Join(keys, " "); got != row.keys && !(row.keys == "*" && got != "") {
				t.Errorf("the keys are %q, want %q", got, row.keys)
			}
		})
	}
	for _, name := range []string{"status", "pages", "history", "explain", "text", "add", "block", "unblock", "pace", "pause", "resume", "recrawl", "purge"} {
		t.Run(name+", running or not", func(t *testing.T) {
			args := append(strings.Fields(printsJSON[name].args), "--json", "--data")
			rest, _ := freshet(t, 0, append(args, "data")...)
			runs, _ := freshet(t, 0, append(args, "served")...)
			if rest, runs := keysOf(t, rest), keysOf(t, runs); !slices.Equal(rest, runs) {
				t.Errorf("at rest the keys are %q, and while it runs %q", rest, runs)
			}
		})
	}
}

// lastOfJSON are commands that come after all others, in this order.
var lastOfJSON = []string{"snapshot", "restore", "segments take", "block", "unblock", "add", "pace", "pause", "resume", "purge", "recrawl"}

// keysOf returns the keys of the last line, sorted. Each line must be an object with keys in snake case.
func keysOf(t *testing.T, out string) (keys []string) {
	t.Helper()
	snake := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	for line := range strings.Lines(out) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Errorf("%q is no object: %v", line, err)
			continue
		}
		keys = slices.Sorted(maps.Keys(object))
		for _, key := range keys {
			if !snake.MatchString(key) {
				t.Errorf("the key %q is not in snake case", key)
			}
		}
	}
	return keys
}
