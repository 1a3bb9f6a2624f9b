package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/cmd/freshet/command"
	"freshet/feed/broadcast"
	"freshet/feed/sink"
	"freshet/feed/webhook"
	"freshet/index"
	"freshet/node"
	"freshet/store/segments"
)

// docsCommand writes the generated documentation: docs/settings.md, docs/commands.md, docs/metrics.md and man pages.
func docsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "docs", Short: "Write documentation of settings and commands", Hidden: true, Args: command.GroupArgs,
		Example: "  freshet docs settings > docs/settings.md\n  freshet docs commands > docs/commands.md\n  freshet docs metrics > docs/metrics.md\n  freshet docs man man1/", RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	settings := &cobra.Command{Use: "settings", Short: "Write the list of settings as Markdown", Args: command.NoArgs,
		Example: "  freshet docs settings > docs/settings.md",
		RunE: func(cmd *cobra.Command, _ []string) error {
			writeSettings(cmd.OutOrStdout())
			return nil
		}}
	commands := &cobra.Command{Use: "commands", Short: "Write what each command does as Markdown", Args: command.NoArgs,
		Example: "  freshet docs commands > docs/commands.md",
		RunE: func(cmd *cobra.Command, _ []string) error {
			writeCommands(cmd.OutOrStdout(), cmd.Root())
			return nil
		}}
	metrics := &cobra.Command{Use: "metrics", Short: "Write the list of metrics as Markdown", Args: command.NoArgs,
		Example: "  freshet docs metrics > docs/metrics.md",
		RunE: func(cmd *cobra.Command, _ []string) error {
			writeMetrics(cmd.OutOrStdout())
			return nil
		}}
	man := &cobra.Command{Use: "man DIR", Short: "Write a man page for every command", Args: command.OneArg("DIR"),
		Example: "  freshet docs man man1/",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			return writeManPages(args[0], cmd.Root())
		}}
	cmd.AddCommand(settings, commands, metrics, man)
	return cmd
}

// unitOf returns the unit of a setting's value, or its kind of text.
func unitOf(f *pflag.Flag) string {
	switch kind := f.Value.Type(); kind {
	case "duration":
		return "time: 15s, 24h, 7d"
	case "size":
		return "bytes: 500, 64KiB, 16MiB"
	case "bandwidth":
		return "bytes a second, by hours"
	case "rate@time":
		return "seconds a second, since: 86400@2026-01-31T12:00:00Z"
	case "bool":
		return "true or false"
	case "string":
		return "text"
	case "stringSlice":
		return "texts, separated by commas"
	case "int", "int64", "uint32", "float64":
		return unitNames[f.Name]
	default:
		return kind
	}
}

// unitNames are the units of settings that are plain numbers.
var unitNames = map[string]string{
	"partitions": "partitions", "copies": "nodes", "nats-replicas": "servers", "shards": "shards", "adaptive-delay": "times the last answer's time", "per-connection": "requests", "connections": "fetches", "gamma": "pages a second",
	"max-pages": "pages", "max-depth": "links", "pages-per-site": "pages", "retries": "attempts",
	"warc-level": "level, 0 to 9", "budget": "fetches an interval", "discovery-share": "share, 0 to 1",
}

// writeSettings writes every setting with default, unit and meaning.
func writeSettings(out io.Writer) {
	fmt.Fprint(out, "# Settings\n\nWritten by `freshet docs settings`; a test holds it to the program. A setting's value comes from its flag (`--max-pages 7`), else from its variable (`FRESHET_MAX_PAGES=7`), else from the file of `--config` (`max-pages: 7`), else it is the default. Those marked ↻ take effect when a daemon reloads, the others at its next start.\n\n| setting | default | unit | meaning |\n| --- | --- | --- | --- |\n")
	newCrawlFlags().VisitAll(func(f *pflag.Flag) {
		name := "`" + f.Name + "`"
		if slices.Contains(reloadable, f.Name) {
			name += " ↻"
		}
		fallback := f.DefValue
		if fallback == "" || fallback == "[]" {
			fallback = "none"
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", name, fallback, unitOf(f), strings.ReplaceAll(f.Usage, "|", "\\|"))
	})
	fmt.Fprint(out, "\n# Rules\n\nThe file of `--scope FILE` is YAML with these keys, all of which may be left out; [how to say what is crawled](how-to/scope.md) explains them.\n\n| key | meaning |\n| --- | --- |\n")
	for _, k := range new(rulesRead).keys(nil, nil) {
		fmt.Fprintf(out, "| `%s` | %s |\n", k.name, k.help)
	}
	for _, k := range siteKeys(nil, nil) {
		fmt.Fprintf(out, "| `sites: - %s` | %s |\n", k.name, k.help)
	}
}

// writeCommands writes description, usage, flags and example of each command, in the order of help. It leaves out
// flags that are settings: the page of settings has them.
func writeCommands(out io.Writer, root *cobra.Command) {
	fmt.Fprint(out, "# Commands\n\nWritten by `freshet docs commands`; a test holds it to the program. `freshet COMMAND --help` shows the same. The commands that crawl also take every [setting](settings.md) as a flag.\n")
	listed := map[*cobra.Command]bool{}
	for _, s := range commandSections {
		fmt.Fprintf(out, "\n## %s\n", s.title)
		for _, name := range s.names {
			if cmd, _, err := root.Find([]string{name}); err == nil {
				writeCommand(out, cmd)
				listed[cmd] = true
			}
		}
	}
	fmt.Fprint(out, "\n## Other commands\n")
	for _, cmd := range root.Commands() {
		if !listed[cmd] && cmd.Name() != "completion" && cmd.Name() != "help" { // these two are cobra's
			writeCommand(out, cmd)
		}
	}
}

// writeCommand writes a section for a visible command, and for its subcommands.
func writeCommand(out io.Writer, cmd *cobra.Command) {
	if !cmd.IsAvailableCommand() {
		return
	}
	fmt.Fprintf(out, "\n### %s\n\n%s.\n", cmd.CommandPath(), cmd.Short)
	if cmd.Long != "" {
		fmt.Fprintf(out, "\n%s\n", cmd.Long)
	}
	fmt.Fprintf(out, "\n```\n%s\n```\n", cmd.UseLine())
	settings, own, all := newCrawlFlags(), 0, 0
	crawls := cmd.Flags().Lookup("warc-size") != nil // such a command has nearly all settings
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if all++; crawls && settings.Lookup(f.Name) != nil {
			return
		}
		if own++; own == 1 {
			fmt.Fprint(out, "\n| flag | default | meaning |\n| --- | --- | --- |\n")
		}
		kind, usage := pflag.UnquoteUsage(f)
		fallback := f.DefValue
		if fallback == "[]" || fallback == "false" {
			fallback = ""
		}
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", strings.TrimSpace("--"+f.Name+" "+kind), fallback, strings.ReplaceAll(usage, "|", "\\|"))
	})
	if own < all {
		fmt.Fprint(out, "\nBeside these, the [settings](settings.md).\n")
	}
	if cmd.Example != "" {
		fmt.Fprintf(out, "\n```\n%s\n```\n", strings.TrimRight(cmd.Example, "\n"))
	}
	for _, below := range cmd.Commands() {
		writeCommand(out, below)
	}
}

// description matches the text of a metric's Desc.
var description = regexp.MustCompile(`^Desc\{fqName: (".*"), help: (".*"), unit: ".*", constLabels: \{\}, variableLabels: \{(.*)\}\}$`)

// writeMetrics writes every metric of Freshet on /metrics, by name.
func writeMetrics(out io.Writer) {
	fmt.Fprint(out, "# Metrics\n\nWritten by `freshet docs metrics`; a test holds it to the program. `/metrics` of `--listen` shows these to Prometheus, and beside them those of Go and of the process. What ends in `_total` is a counter, every other a gauge.\n\n| metric | labels | meaning |\n| --- | --- | --- |\n")
	found := make(chan *prometheus.Desc, 1000) // more than there are
	for _, c := range []prometheus.Collector{new(node.Node).Collector(), broadcast.Collector(nil), webhook.Collector(nil), sink.Collector(nil), index.Collector(nil), segments.Collector(nil)} {
		c.Describe(found)
	}
	close(found)
	var lines []string
	for d := range found {
		parts := description.FindStringSubmatch(d.String())
		if parts == nil {
			panic("freshet: a metric describes itself in another way: " + d.String())
		}
		name, _ := strconv.Unquote(parts[1])
		help, _ := strconv.Unquote(parts[2])
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s |\n", name, strings.ReplaceAll(parts[3], ",", ", "), help))
	}
	slices.Sort(lines)
	fmt.Fprint(out, strings.Join(lines, ""))
}

// writeManPages writes a page for a command and each of its subcommands.
func writeManPages(dir string, cmd *cobra.Command) error {
	if !cmd.IsAvailableCommand() && cmd.HasParent() {
		return nil
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
	if err := command.WriteFile(filepath.Join(dir, name), func(out io.Writer) error {
		manPage(out, cmd)
		return nil
	}); err != nil {
		return err
	}
	for _, below := range cmd.Commands() {
		if err := writeManPages(dir, below); err != nil {
			return err
		}
	}
	return nil
}

// manPage writes a command's page as roff.
func manPage(out io.Writer, cmd *cobra.Command) {
	escape := strings.NewReplacer(`\`, `\e`, "\n.", "\n\\&.", "\n'", "\n\\&'", "-", `\-`).Replace
	title := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(out, ".TH %s 1 \"\" \"freshet %s\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", strings.ToUpper(title), version(), escape(title), escape(cmd.Short), escape(cmd.UseLine()))
	if cmd.Long != "" {
		fmt.Fprintf(out, ".SH DESCRIPTION\n%s\n", escape(cmd.Long))
	}
	if cmd.LocalFlags().HasAvailableFlags() {
		fmt.Fprint(out, ".SH OPTIONS\n")
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			fmt.Fprintf(out, ".TP\n.B %s\n%s", escape("--"+f.Name+" "+f.Value.Type()), escape(f.Usage))
			if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
				fmt.Fprintf(out, " (default %s)", escape(f.DefValue))
			}
			fmt.Fprintln(out)
		})
	}
	if cmd.Example != "" {
		fmt.Fprintf(out, ".SH EXAMPLES\n.nf\n%s\n.fi\n", escape(cmd.Example))
	}
	if cmd.HasParent() {
		fmt.Fprintf(out, ".SH SEE ALSO\n.BR %s (1)\n", escape(strings.ReplaceAll(cmd.Parent().CommandPath(), " ", "-")))
	}
}
