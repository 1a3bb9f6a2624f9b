package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/cmd/freshet/command"
	"freshet/crawl/explain"
	"freshet/dashboard"
	"freshet/node"
	"freshet/store"
)

// explainSettings are the settings of a crawl that decide about a URL. A running crawl has its own. Without one, they
// say what the next run would do.
var explainSettings = []string{"scope", "requisites", "order", "opt-out", "max-depth", "pages-per-site", "user-agent", "retries", "allow-private"}

func explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain URL", Short: "Say why a URL was or was not fetched, and when it is due", Args: command.OneArg("URL"),
		Long: "The first line says what decides: why the URL was fetched or not, or when it will be. The lines below are the checks\n" +
			"that it passed or failed, in their order: syntax, scope, limits, whether it is known, robots.txt, private addresses,\n" +
			"the batch where --order ranks pages, the politeness to its host, the last answer, retries and its queue. The settings\n" +
			"--scope and so on matter only if no crawl is running in the directory.",
		Example: "  freshet explain https://example.org/calendar/2045/01\n  freshet explain --json --data archive https://example.org/",
	}
	d := directoryOf(cmd)
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	settings := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	crawlFlags(settings)
	for _, setting := range explainSettings {
		cmd.Flags().AddFlag(settings.Lookup(setting))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := settle(settings, cmd.Flags().Lookup("config").Value.String(), cmd.InOrStdin()); err != nil {
			return command.Usage(err)
		}
		query := url.Values{"url": args, "search": {"true"}}
		for _, setting := range explainSettings {
			query.Set(setting, settings.Lookup(setting).Value.String())
		}
		return look(cmd.Context(), d.data, d.crawl, "/api/v1/explain", query, func(body io.Reader) error {
			if *asJSON {
				_, err := io.Copy(cmd.OutOrStdout(), body)
				return err
			}
			var e explain.Explanation
			if err := json.NewDecoder(body).Decode(&e); err != nil {
				return err
			}
			printExplanation(cmd.OutOrStdout(), e)
			return nil
		})
	}
	return cmd
}

func printExplanation(out io.Writer, e explain.Explanation) {
	fmt.Fprintln(out, e.URL)
	if e.StoppedBy != "" {
		fmt.Fprintf(out, "%s: %s. ", e.StoppedBy, e.Reason)
	}
	fmt.Fprintln(out, e.Why)
	if guess, ok := guessURL(e.URL); ok && e.StoppedBy == "syntax" {
		fmt.Fprintf(out, "Did you mean %s?\n", guess)
	}
	if e.Trouble != nil {
		fmt.Fprintln(out, e.Trouble)
	}
	for _, g := range e.Gates {
		fmt.Fprintf(out, "  %-8s %-8s %s\n", g.Gate, g.Verdict, strings.TrimSpace(strings.Join([]string{g.Reason, g.Detail}, "  ")))
	}
	if e.NextDue != nil {
		fmt.Fprintln(out, "next due", e.NextDue.Format(time.RFC3339))
	}
}

// Explain implements dashboard.Reader. The query has the URL, how long links to it are looked for and, if no crawl
// runs, possibly explainSettings.
func (r reader) Explain(query url.Values) (any, error) {
	raw, most := query.Get("url"), aMoment
	switch query.Get("search") {
	case "true":
		most = node.Unhurried
	case "false":
		most = 0
	}
	if r.explain != nil {
		return r.explain(raw, most)
	}
	return explainStopped(r.store, query, raw, most)
}

// aMoment is how long the API searches for links to an unknown URL, unless it is asked for more.
const aMoment = 50 * time.Millisecond

// explainable returns explainSettings for the description of the API.
func explainable() (all []dashboard.Setting) {
	settings := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	crawlFlags(settings)
	for _, name := range explainSettings {
		all = append(all, dashboard.Setting{Name: name, Help: settings.Lookup(name).Usage})
	}
	return all
}

// explainStopped explains a URL in a directory without a running crawl.
func explainStopped(s *store.Store, query url.Values, raw string, most time.Duration) (explain.Explanation, error) {
	flags := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	settings := crawlFlags(flags)
	for _, name := range explainSettings {
		if !query.Has(name) {
			continue
		}
		if err := flags.Set(name, query.Get(name)); err != nil {
			return explain.Explanation{}, err
		}
	}
	o := settings.options
	read, err := readRules(o.Scope, settings.optOut)
	if err != nil {
		return explain.Explanation{}, wrong(err)
	}
	o.Scope, o.Rules = read.scope, &read.rules
	o.Delay = time.Duration(settings.delay)
	o.Agent, _, _ = strings.Cut(settings.userAgent, "/")
	return node.Explain(s, o, raw, most)
}
