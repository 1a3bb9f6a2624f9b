package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"freshet/cmd/freshet/command"
	"freshet/crawl"
	"freshet/dashboard"
	"freshet/dashboard/units"
	"freshet/frontier"
	"freshet/node"
	"freshet/store"
	"freshet/store/segments"
	"freshet/weburl"
)

// steerer applies orders to an engine that runs or is only open.
type steerer struct {
	engine *node.Node
	reload func() (changes []string, err error) // nil: no settings to read again
}

// told translates an error of the engine to one of the dashboard.
func told(err error) error {
	switch {
	case errors.Is(err, crawl.ErrUnknown):
		return answer{fmt.Errorf("%w (freshet pages lists what is known)", err), dashboard.ErrNotFound}
	case errors.Is(err, crawl.ErrOrder):
		return answer{err, dashboard.ErrOrder}
	}
	return err
}

// answer is an error with its own words that errors.Is takes for an error of the dashboard.
type answer struct {
	error
	counts error
}

// Is makes errors.Is find the dashboard's error.
func (a answer) Is(target error) bool { return target == a.counts }

// Unwrap returns the error itself.
func (a answer) Unwrap() error { return a.error }

// wrong returns the error of an order or a question that cannot be understood.
func wrong(err error) error { return answer{err, dashboard.ErrOrder} }

// Add implements dashboard.Steerer, as the methods below do.
func (s steerer) Add(o dashboard.AddOrder) (report dashboard.Report, err error) {
	return named(o.URLs, s.engine.Add)
}

// Ping takes word that pages have changed.
func (s steerer) Ping(o dashboard.PingOrder) (report dashboard.Report, err error) {
	return named(o.URLs, s.engine.Ping)
}

// named calls do with the pages that an order names.
func named(raw []string, do func([]weburl.URL) (pages int64, refused map[string]string, err error)) (report dashboard.Report, err error) {
	var urls []weburl.URL
	for _, text := range raw {
		u, err := parseURL(text)
		if err != nil {
			return report, wrong(err)
		}
		urls = append(urls, u)
	}
	if len(urls) == 0 {
		return report, wrong(errors.New("no URLs"))
	}
	report.Pages, report.Refused, err = do(urls)
	return report, told(err)
}

// Pause stops the requests to a site, or all requests.
func (s steerer) Pause(o dashboard.SiteOrder) (dashboard.Report, error) { return s.pause(o, true) }

// Resume lifts a Pause.
func (s steerer) Resume(o dashboard.SiteOrder) (dashboard.Report, error) { return s.pause(o, false) }

func (s steerer) pause(o dashboard.SiteOrder, paused bool) (report dashboard.Report, err error) {
	if o.Site == "" {
		return report, told(s.engine.PauseAll(paused))
	}
	site, err := siteOf(o.Site)
	if err != nil {
		return report, wrong(err)
	}
	return report, told(s.engine.Pause(site, paused))
}

// Pace sets how fast a site may be asked.
func (s steerer) Pace(o dashboard.PaceOrder) (report dashboard.Report, err error) {
	site, err := siteOf(o.Site)
	if err == nil && o.DelayS == nil && o.Budget == nil {
		err = errors.New("want a delay_s or a budget")
	}
	if err != nil {
		return report, wrong(err)
	}
	var delay *time.Duration
	if o.DelayS != nil {
		few := min(max(*o.DelayS, -1), frontier.MaxCrawlDelay.Seconds()+1) // what is cut off is refused as well
		delay = new(time.Duration(few * float64(time.Second)))
	}
	return report, told(s.engine.Pace(site, delay, o.Budget))
}

// Recrawl makes pages due.
func (s steerer) Recrawl(o dashboard.PagesOrder) (dashboard.Report, error) {
	return s.pages(o, s.engine.Recrawl, s.engine.RecrawlSite)
}

// Purge takes pages down, or counts those that it would take.
func (s steerer) Purge(o dashboard.PurgeOrder) (report dashboard.Report, err error) {
	pages := dashboard.PagesOrder{URL: o.URL, Site: o.Site}
	if !o.DryRun {
		return s.pages(pages, s.engine.Purge, s.engine.PurgeSite)
	}
	counted := int64(0)
	report, err = s.pages(pages, func(u weburl.URL) (err error) {
		counted, err = s.engine.CountPurge(store.Target{URL: u})
		return err
	}, func(site weburl.Site) (_ int64, err error) {
		counted, err = s.engine.CountPurge(store.Target{Site: site})
		return counted, err
	})
	report.Pages = counted
	return report, err
}

// pages calls one for a page, or all for a site.
func (s steerer) pages(o dashboard.PagesOrder, one func(weburl.URL) error, all func(weburl.Site) (int64, error)) (report dashboard.Report, err error) {
	if (o.URL == "") == (o.Site == "") {
		return report, wrong(errors.New("want a url or a site"))
	}
	u, err := parseURL(cmp.Or(o.URL, o.Site))
	if err != nil {
		return report, wrong(err)
	}
	if o.URL != "" {
		return dashboard.Report{Pages: 1}, told(one(u))
	}
	report.Pages, err = all(u.Site())
	return report, told(err)
}

// Block stops the requests to a host.
func (s steerer) Block(o dashboard.BlockOrder) (report dashboard.Report, err error) {
	var until time.Time
	if o.Until != nil {
		until = *o.Until
	}
	return report, told(s.engine.Block(o.Host, until))
}

// Unblock lifts a Block.
func (s steerer) Unblock(o dashboard.HostOrder) (report dashboard.Report, err error) {
	return report, told(s.engine.Unblock(o.Host))
}

// Reload reads the settings again.
func (s steerer) Reload(dashboard.ReloadOrder) (report dashboard.Report, err error) {
	if s.reload == nil {
		return report, wrong(errors.New("this crawl has no settings to read again: start it with freshet serve --config FILE"))
	}
	report.Changes, err = s.reload()
	if err != nil {
		return report, wrong(err)
	}
	return report, nil
}

// tell sends an order to the crawl that runs in a directory. If none runs, it opens the directory and applies the
// order there. read is called with the answer and whether a crawl runs.
func tell(ctx context.Context, d *directory, verb string, order any, read func(body io.Reader, runs bool) error) error {
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	way, err := patiently(ctx, d.data, func() (*api, error) {
		return apiOf(ctx, d.data, d.steeringAPI)
	})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/api/v1/"+verb+"?"+dashboard.CrawlParameter+"="+d.crawl, bytes.NewReader(text))
	if err == nil {
		request.Header.Set("Content-Type", "application/json")
		_, alone := way.RoundTripper.(*inProcess)
		err = way.ask(request, func(answer *http.Response) error { return read(answer.Body, !alone) })
	}
	return errors.Join(err, way.close())
}

// steeringAPI opens a crawl for orders in a directory without a running crawl. The settings for new seeds come from
// the environment and --config.
func (d *directory) steeringAPI() (*api, error) {
	if err := checkDirectory(d.data); err != nil {
		return nil, err
	}
	options, err := d.settings.optionsOf(nil, false)
	if err != nil {
		return nil, err
	}
	options.Dir, options.Crawl, options.Wait = d.data, d.crawl, true
	options.OnPurge = queriesIn(d.data, d.crawl, 0, options.Logger).Forget
	if options.Segments, err = segmentsOf(d.data, "", segments.Options{CacheBytes: -1, Clock: options.Clock, Logger: options.Logger}); err != nil {
		return nil, err
	}
	engine, err := node.Open(options)
	if err != nil {
		return nil, err
	}
	return inProcessAPI(apiOptions(newReader(engine.Store()), steerer{engine: engine}), engine.Close), nil
}

// orderCommand completes a command that sends the order with its name and prints the result.
func orderCommand(cmd *cobra.Command, order func(cmd *cobra.Command, args []string) (any, error)) *cobra.Command {
	d := directoryOf(cmd)
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := order(cmd, args)
		if err != nil {
			return command.Usage(err)
		}
		return giveOrder(cmd, d, cmd.Name(), cmd.Name(), o, *asJSON)
	}
	return cmd
}

// giveOrder sends an order and prints the result. named is the name of the order's object.
func giveOrder(cmd *cobra.Command, d *directory, verb, named string, order any, asJSON bool) error {
	return tell(cmd.Context(), d, verb, order, func(body io.Reader, runs bool) error {
		var report dashboard.Report
		if err := json.NewDecoder(body).Decode(&report); err != nil {
			return err
		}
		if asJSON {
			return errors.Join(json.NewEncoder(cmd.OutOrStdout()).Encode(report), refusals(report))
		}
		printReport(cmd.OutOrStdout(), named, order, report, runs)
		return refusals(report)
	})
}

// printReport prints the result of an order. runs says whether a crawl runs.
func printReport(out io.Writer, verb string, order any, report dashboard.Report, runs bool) {
	for _, change := range report.Changes {
		fmt.Fprintln(out, change)
	}
	switch verb {
	case "add":
		added, _ := order.(dashboard.AddOrder)
		fmt.Fprintf(out, "add: %s", units.Plural(report.Pages, "page"))
		if known := int64(len(added.URLs)-len(report.Refused)) - report.Pages; known > 0 {
			fmt.Fprintf(out, ", %d known already (freshet recrawl visits a page again)", known)
		}
		fmt.Fprintln(out)
	case "recrawl", "purge", "would purge":
		fmt.Fprintf(out, "%s: %s", verb, units.Plural(report.Pages, "page"))
		if verb == "recrawl" && !runs && report.Pages > 0 {
			fmt.Fprint(out, " (no crawl runs; the next run makes the visit)")
		}
		fmt.Fprintln(out)
	case "reload":
		if len(report.Changes) == 0 {
			fmt.Fprintln(out, "reload: nothing has changed")
		}
	default:
		fmt.Fprintf(out, "%s: done\n", verb)
	}
}

// refusals returns an error with the refused seeds, or nil.
func refusals(report dashboard.Report) error {
	var faults []error
	for _, u := range slices.Sorted(maps.Keys(report.Refused)) {
		faults = append(faults, fmt.Errorf("%s is refused: %s (freshet explain says more)", u, report.Refused[u]))
	}
	return errors.Join(faults...)
}

// steeringCommands returns the commands that change a crawl, whether it runs or not.
func steeringCommands() []*cobra.Command {
	return []*cobra.Command{addCommand(), pauseCommand("pause", "Make no more requests to a site, or to any"),
		pauseCommand("resume", "End a pause"), paceCommand(), pagesOrderCommand("recrawl", "Visit a page or a site again now",
			"With --site, all pages of the site that were fetched before are visited again, except those of types that the rules\ndo not refresh. Pages that are still waiting for their first visit keep their place."),
		blockCommand(), unblockCommand(), purgeCommand(), reloadCommand()}
}

func addCommand() *cobra.Command {
	var file string
	cmd := orderCommand(&cobra.Command{
		Use: "add [URL…]", Short: "Add seeds to a crawl",
		Long: "Adds seeds to the crawl that is running in the directory, or to the next run. If the rules or a limit refuse a seed,\n" +
			"the command fails, but the other seeds are added.",
		Example: "  freshet add https://example.org/ https://example.net/\n  freshet add --seeds more.txt --data archive",
	}, func(cmd *cobra.Command, args []string) (any, error) {
		seeds, err := readSeeds(args, file, cmd.InOrStdin())
		if err == nil && len(seeds) == 0 {
			err = errors.New("nothing to add: give URLs or --seeds")
		}
		order := dashboard.AddOrder{}
		for _, u := range seeds {
			order.URLs = append(order.URLs, u.String())
		}
		return order, err
	})
	cmd.Flags().StringVar(&file, "seeds", "", "file of seeds, one URL per line; - for standard input")
	return cmd
}

func pauseCommand(verb, short string) *cobra.Command {
	return orderCommand(&cobra.Command{
		Use: verb + " [SITE]", Short: short, Args: command.AtMostOneArg("SITE"),
		Long: "Without SITE it applies to the whole crawl. A pause lasts until it is ended, also after a restart. Requests under way\n" +
			"are completed.",
		Example: fmt.Sprintf("  freshet %s\n  freshet %s https://example.org", verb, verb),
	}, func(_ *cobra.Command, args []string) (any, error) {
		if len(args) == 0 {
			return dashboard.SiteOrder{}, nil
		}
		site, err := siteOf(args[0])
		return dashboard.SiteOrder{Site: string(site)}, err
	})
}

func paceCommand() *cobra.Command {
	var delay command.Duration
	var budget int
	cmd := orderCommand(&cobra.Command{
		Use: "pace SITE", Short: "Set the delay and the budget of a site", Args: command.OneArg("SITE"),
		Long: "Makes a site slower than the settings, the rules and its robots.txt allow, also after a restart. Only the rules make a\n" +
			"site faster. 0 ends what an earlier order set.",
		Example: "  freshet pace https://example.org --delay 1m --budget 500\n  freshet pace https://example.org --delay 0s --budget 0",
	}, func(cmd *cobra.Command, args []string) (any, error) {
		site, err := siteOf(args[0])
		order := dashboard.PaceOrder{Site: string(site)}
		if cmd.Flags().Changed("delay") {
			s := time.Duration(delay).Seconds()
			order.DelayS = &s
		}
		if cmd.Flags().Changed("budget") {
			order.Budget = &budget
		}
		if err == nil && order.DelayS == nil && order.Budget == nil {
			err = errors.New("nothing to set: give --delay or --budget")
		}
		return order, err
	})
	cmd.Flags().Var(&delay, "delay", "the least delay between two requests; 0s: that of the settings")
	cmd.Flags().IntVar(&budget, "budget", 0, "fetches a day at most, spread evenly; 0: that of the rules")
	return cmd
}

func pagesOrderCommand(verb, short, long string) *cobra.Command {
	var all bool
	cmd := orderCommand(&cobra.Command{
		Use: verb + " URL", Short: short, Long: long, Args: command.OneArg("URL"),
		Example: fmt.Sprintf("  freshet %s https://example.org/page.html\n  freshet %s --site https://example.org", verb, verb),
	}, func(_ *cobra.Command, args []string) (any, error) {
		u, err := parseURL(args[0])
		if all {
			return dashboard.PagesOrder{Site: string(u.Site())}, err
		}
		return dashboard.PagesOrder{URL: u.String()}, err
	})
	cmd.Flags().BoolVar(&all, "site", false, "all pages of the site of the URL")
	return cmd
}

func purgeCommand() *cobra.Command {
	var site, page, dry, sure bool
	cmd := &cobra.Command{
		Use: "purge URL", Short: "Delete a page or a site permanently", Args: command.OneArg("URL"),
		Long: "Deletes versions, visits and links, in every crawl of the directory. Soon after, their bytes are gone from every\n" +
			"file. Only the URL stays, so that the page is not fetched again. A purged site is never crawled again.\n" +
			"If URL is the home page of a site with other stored pages, add --site to delete them all, or --page to delete\n" +
			"only that page. On a terminal it asks before it deletes a site; in a script it does not.",
		Example: "  freshet purge https://example.org/page.html\n  freshet purge --site https://example.org\n" +
			"  freshet purge --site https://example.org --dry-run",
	}
	d := directoryOf(cmd)
	flags := cmd.Flags()
	asJSON := flags.Bool("json", false, "print JSON")
	flags.BoolVar(&site, "site", false, "all pages of the site of the URL")
	flags.BoolVar(&page, "page", false, "only that page, although it is the home page of a site")
	flags.BoolVar(&dry, "dry-run", false, "only count the pages that would be deleted")
	flags.BoolVar(&sure, "yes", false, "do not ask for confirmation before all pages of a site are deleted")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		u, err := parseURL(args[0])
		if err == nil && site && page {
			err = errors.New("--site and --page exclude each other: use one of them")
		}
		if err != nil {
			return command.Usage(err)
		}
		order, verb := dashboard.PurgeOrder{URL: u.String(), DryRun: dry}, "purge"
		if site {
			order = dashboard.PurgeOrder{Site: string(u.Site()), DryRun: dry}
			if !dry && !sure && term.IsTerminal(int(os.Stdin.Fd())) {
				if err := askFirst(cmd, d, order); err != nil {
					return err
				}
			}
		} else if !page && u == u.Site().Root() {
			if err := mustBeAlone(cmd.Context(), d, u); err != nil {
				return err
			}
		}
		if dry {
			verb = "would purge"
		}
		return giveOrder(cmd, d, "purge", verb, order, *asJSON)
	}
	return cmd
}

// askFirst asks the user to confirm the deletion of a site's pages. It returns an error unless the answer is yes.
func askFirst(cmd *cobra.Command, d *directory, order dashboard.PurgeOrder) error {
	pages, err := countPurge(cmd.Context(), d, order)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "delete %s of %s permanently? [y/N] ", units.Plural(pages, "page"), order.Site)
	answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n') // no answer counts as no
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return errors.New("nothing was deleted")
	}
	return nil
}

// countPurge returns how many pages an order would take down.
func countPurge(ctx context.Context, d *directory, o dashboard.PurgeOrder) (pages int64, err error) {
	o.DryRun = true
	err = tell(ctx, d, "purge", o, func(body io.Reader, _ bool) error {
		var report dashboard.Report
		err := json.NewDecoder(body).Decode(&report)
		pages = report.Pages
		return err
	})
	return pages, err
}

// mustBeAlone returns an error if u is the home page of a site with other stored pages.
func mustBeAlone(ctx context.Context, d *directory, u weburl.URL) error {
	all, err := countPurge(ctx, d, dashboard.PurgeOrder{Site: string(u.Site())})
	if err != nil || all <= 1 {
		return err
	}
	return command.Usage(fmt.Errorf("%s is one of %d pages of its site: add --site to delete all of them, or --page to delete only this one", u, all))
}

func blockCommand() *cobra.Command {
	var until string
	cmd := orderCommand(&cobra.Command{
		Use: "block HOST", Short: "Make no more requests to a host", Args: command.OneArg("HOST"),
		Long:    "A block lasts until it is ended, also after a restart. Requests under way are completed.",
		Example: "  freshet block example.org\n  freshet block example.org --until 2026-12-31T00:00:00Z",
	}, func(_ *cobra.Command, args []string) (any, error) {
		host, err := typedHost(args[0])
		order := dashboard.BlockOrder{Host: host}
		if err != nil || until == "" {
			return order, err
		}
		at, err := time.Parse(time.RFC3339, until)
		if err != nil {
			return nil, fmt.Errorf("--until %q: want a time such as 2026-12-31T00:00:00Z", until)
		}
		order.Until = &at
		return order, nil
	})
	cmd.Flags().StringVar(&until, "until", "", "when the block ends by itself, such as 2026-12-31T00:00:00Z; empty: never")
	return cmd
}

func unblockCommand() *cobra.Command {
	return orderCommand(&cobra.Command{
		Use: "unblock HOST", Short: "End a block", Args: command.OneArg("HOST"), Example: "  freshet unblock example.org",
	}, func(_ *cobra.Command, args []string) (any, error) {
		host, err := typedHost(args[0])
		return dashboard.HostOrder{Host: host}, err
	})
}

// typedHost returns the host that a user typed. For a URL it returns an error that names its host.
func typedHost(text string) (string, error) {
	if !strings.Contains(text, "://") {
		return text, nil
	}
	if u, err := weburl.Parse(text); err == nil {
		return "", fmt.Errorf("%q is a URL, not a host (did you mean %s?)", text, u.Host())
	}
	return text, nil
}

func reloadCommand() *cobra.Command {
	return orderCommand(&cobra.Command{
		Use: "reload", Short: "Make a running daemon read its settings again", Args: command.NoArgs,
		Long:    "Does the same as SIGHUP, and prints what has changed. If a file has a fault, nothing changes.",
		Example: "  freshet reload --data archive",
	}, func(*cobra.Command, []string) (any, error) { return dashboard.ReloadOrder{}, nil })
}
