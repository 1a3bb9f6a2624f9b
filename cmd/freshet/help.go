package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/cmd/freshet/command"
	"freshet/store"
)

// section is a heading of a help text and the text below it.
type section struct {
	title string
	names []string
}

// commandSections are the sections of commands in help.
var commandSections = []section{
	{"Crawl", []string{"crawl", "serve", "demo", "subscribe", "cluster"}},
	{"Look", []string{"view", "status", "pages", "history", "cat", "text", "search", "explain"}},
	{"Steer", []string{"add", "pause", "resume", "pace", "recrawl", "block", "unblock", "purge", "reload"}},
	{"Keep and exchange", []string{"export", "import", "verify", "snapshot", "restore", "migrate", "segments"}},
	{"Plan and measure", []string{"doctor", "plan", "schedule", "weights", "fleet", "seen", "lab"}},
}

// settingSections are the sections of settings in help.
var settingSections = []section{
	{"Seeds and scope", []string{"seeds", "scope", "requisites", "opt-out", "order", "max-pages", "max-depth", "pages-per-site", "for", "crawl"}},
	{"Politeness", []string{"contact", "user-agent", "delay", "adaptive-delay", "address-delay", "per-connection", "retries", "retry-delay", "bandwidth", "bandwidth-out", "allow-private", "tdmrep", "resolve"}},
	{"Keeping fresh", []string{"refresh", "budget", "interval", "discovery-share", "change-signal", "policy", "weights"}},
	{"Storage", []string{"data", "partitions", "keep", "max-body", "warc-size", "warc-level", "segments", "segments-cache", "min-free"}},
	{"Feed", []string{"objective", "over", "feed-rate", "feed-scheduler", "feed-multicast", "feed-interface", "sink", "sink-uses", "webhook", "webhook-secret-file", "websub-secret-file"}},
	{"Serving", []string{"index", "query-log", "query-log-age", "listen", "token-file", "look-token-file", "tls-cert", "tls-key", "plain-http"}},
	{"Many machines", []string{"nats", "cluster", "node", "copies", "nats-replicas", "nats-creds", "nats-ca", "nats-cert", "nats-key", "nats-monitor", "partition-snapshots", "partition-snapshots-every"}},
	{"Speed and trials", []string{"connections", "fleet", "gamma", "memory", "shards", "clock", "record-trace", "log"}},
}

// groupHelp makes help say first what a command does, and list commands and settings in sections.
func groupHelp(root *cobra.Command) {
	for _, s := range commandSections {
		root.AddGroup(&cobra.Group{ID: s.title, Title: s.title + ":"})
		for _, cmd := range root.Commands() {
			if slices.Contains(s.names, cmd.Name()) {
				cmd.GroupID = s.title
			}
		}
	}
	root.SetHelpTemplate("{{if .HasParent}}{{.Short}}.\n\n{{end}}{{with .Long}}{{. | trimTrailingWhitespaces}}\n\n{{end}}{{.UsageString}}")
	cobra.AddTemplateFunc("sections", flagSections)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(),
		"Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", "{{sections .LocalFlags}}", 1))
}

// helpWidth is the largest width of the text of flags.
const helpWidth = 110

// flagSections formats flags: first those that are not settings of a crawl, then the settings in sections.
func flagSections(flags *pflag.FlagSet) string {
	var text strings.Builder
	list := func(title string, of func(*pflag.Flag) bool) {
		some := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.VisitAll(func(f *pflag.Flag) {
			if of(f) {
				some.AddFlag(f)
			}
		})
		if some.HasAvailableFlags() {
			text.WriteString(title + ":\n" + some.FlagUsagesWrapped(helpWidth) + "\n")
		}
	}
	whole := flags.Lookup("warc-size") != nil // of a crawl, whose settings are many
	section := func(f *pflag.Flag) string {
		for _, s := range settingSections {
			if whole && slices.Contains(s.names, f.Name) {
				return s.title
			}
		}
		return ""
	}
	list("Flags", func(f *pflag.Flag) bool { return section(f) == "" })
	for _, s := range settingSections {
		list(s.title, func(f *pflag.Flag) bool { return section(f) == s.title })
	}
	return strings.TrimRight(text.String(), "\n")
}

// versionCommand prints the version, like --version, or with --json more.
func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: command.NoArgs,
		Example: "  freshet version\n  freshet version --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !asJSON {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "freshet", version())
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
				Version string `json:"version"`
				Go      string `json:"go"`
				Format  int    `json:"format"` // of data directories
			}{version(), runtime.Version(), store.Format})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
