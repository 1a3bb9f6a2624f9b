package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/cmd/freshet/command"
	"freshet/consent"
	"freshet/crawl"
	"freshet/crawl/explain"
	"freshet/crawl/robots"
	"freshet/dashboard/units"
	"freshet/feed/broadcast/scheduler"
	"freshet/feed/webhook"
	"freshet/fleet"
	"freshet/frontier"
	"freshet/memory"
	"freshet/node"
	"freshet/seen/trace"
	"freshet/store"
	"freshet/store/retain"
	"freshet/store/warc"
	"freshet/weburl"
)

// crawlSettings holds the values of the settings of a crawl.
type crawlSettings struct {
	options   node.Options
	data      string
	seeds     string
	optOut    string
	contact   string
	userAgent string
	listen    string
	tokenFile string
	// lookTokenFile has the token that allows to look but not to steer.
	lookTokenFile string
	hubSecret     string // its file
	tlsCert       string
	tlsKey        string
	plainHTTP     bool
	trace         string
	logLevel      string
	fleet         string
	refresh       refreshSettings
	segments      segmentSettings
	cluster       clusterSettings
	watch         func(*node.Node) (stop func()) // observes the running crawl; may be nil
	ends          bool                           // the end of forTime counts as done, not as a limit

	signal string // visible-text or main-text

	rules []string // lines of the files of rules and opt-outs, once they are read

	delay, addressDelay, forTime, retryDelay command.Duration
	maxBody, warcSize, minFree, memory       byteCount
	keep                                     keep
	feed                                     feedSettings
	bandwidthIn, bandwidthOut                bandwidth
	resolve                                  resolveMap
	clock                                    pace
}

// crawlFlags declares every setting of a crawl, with name, default, unit and sentence. Flags, FRESHET_ variables,
// YAML keys and their documentation come from this list.
func crawlFlags(flags *pflag.FlagSet) *crawlSettings {
	s := &crawlSettings{resolve: resolveMap{}, clock: pace{rate: 1}}
	o := &s.options
	s.delay, s.retryDelay = command.Duration(15e9), command.Duration(30e9)
	s.maxBody, s.warcSize, s.minFree = 16<<20, 1<<30, 64<<20
	s.keep.Tombstones, s.feed.queryAge = 90*24*time.Hour, command.Duration(90*24*time.Hour)
	flags.StringVar(&s.data, "data", "data", "data directory; it is created if it does not exist")
	check(flags, onDisk, "data")
	flags.StringVar(&o.Crawl, "crawl", "main", "name of the crawl; a data directory can hold several")
	flags.IntVar(&o.Partitions, "partitions", 16, "number of partitions of a new data directory")
	flags.IntVar(&o.Shards, "shards", 1, "number of shards, each of which decides about its part of the partitions; with more than one, --address-delay, --record-trace and orders and weights by PageRank are not available")
	flags.StringVar(&s.seeds, "seeds", "", "file of seeds, one URL per line; # begins a comment; gzip is accepted; - for standard input")
	flags.StringVar(&o.Scope, "scope", "site", "what to crawl: only the seeds (page), their sites (site), their domains (domain), everything (any), or a file of rules")
	flags.StringVar(&o.Requisites, "requisites", frontier.SameSiteRequisites.String(), "which style sheets, scripts, pictures and fonts of pages to store: none, those on crawled sites (same-site), or all")
	flags.StringVar(&s.signal, "change-signal", "visible-text", "what of an HTML page tells whether it has changed: visible-text, or main-text (without navigation, heads and feet; takes some milliseconds more a page)")
	flags.StringVar(&s.optOut, "opt-out", "", "file of patterns of URLs that are never requested, one per line")
	flags.StringVar(&o.Order, "order", node.DefaultOrder, "which new page is fetched first: "+frontier.OrderingNames()+"; batch and partial compute PageRank every M pages")
	flags.Var(&s.delay, "delay", "pause between the end of an answer and the next request to the same host")
	flags.Float64Var(&o.AdaptiveDelay, "adaptive-delay", 0, "pause for at least this many times as long as the last answer took; 0: off")
	flags.Var(&s.addressDelay, "address-delay", "the same pause for all hosts at one IP address; 0s: off")
	flags.IntVar(&o.PerConnection, "per-connection", 1, "requests on one connection before the pause")
	flags.IntVar(&o.Connections, "connections", 256, "the most fetches at the same time; fewer if memory or the limit of open files requires it")
	flags.StringVar(&s.fleet, "fleet", "auto", "how many fetches run at the same time: auto (adapts to the queue of pages to process), static (the best fixed number for the measured rates), or a number")
	flags.Float64Var(&o.Gamma, "gamma", 0, "cost of a second in which processing has nothing to do, in pages; 0: a hundred times what it processes in a second")
	flags.Int64Var(&o.MaxPages, "max-pages", 0, "stop after this many pages of this run, not counting requisites; 0: no limit")
	flags.IntVar(&o.MaxDepth, "max-depth", 0, "follow at most this many links in a row from a seed; 0: no limit")
	flags.Int64Var(&o.PagesPerSite, "pages-per-site", 25_000, "the most pages of one site, including requisites")
	flags.Var(&s.maxBody, "max-body", "the most bytes of a body that are stored; the rest is cut off")
	flags.Var(&s.memory, "memory", "memory that the crawl may use; 0: half of what the machine or its cgroup has, but at least 256MiB and at most 4GiB")
	flags.Var(&s.bandwidthIn, "bandwidth", "the most bytes received per second, such as 2MiB, or by hours: 200KiB@8:00-18:00 Europe/Berlin; 2MiB; empty: no limit")
	flags.Var(&s.bandwidthOut, "bandwidth-out", "the most bytes sent per second, in the form of --bandwidth")
	flags.Var(&s.forTime, "for", "stop after this time; 0s: no limit")
	o.Retries, o.DiscoveryShare, o.WARCLevel = new(0), new(0.0), new(0)
	flags.IntVar(o.Retries, "retries", 2, "how often a page that failed is tried again; with --refresh, one without a copy is tried later too")
	flags.Var(&s.retryDelay, "retry-delay", "pause before a page that failed is tried again; it doubles each time")
	s.refresh.declare(flags)
	flags.Float64Var(o.DiscoveryShare, "discovery-share", 0.2, "share of the requests that is reserved for new pages while known pages are due as well")
	flags.Var(s.resolve, "resolve", "connect to ADDR:PORT for HOST, whatever its port (repeatable)")
	flags.BoolVar(&o.AllowPrivate, "allow-private", false, "allow requests to loopback, private and link-local addresses")
	flags.StringVar(&s.userAgent, "user-agent", "freshet", "name of the crawler, which is sent to servers and looked up in robots.txt")
	flags.BoolVar(&o.TDMRep, "tdmrep", true, "ask each site once a day for its /.well-known/tdmrep.json, which says what may be mined")
	flags.StringVar(&s.contact, "contact", "", "URL or mailto: address of the operator, which is sent to servers; required unless every target is on loopback")
	flags.StringVar(&s.listen, "listen", defaultListen, "address that serves the window, the API and metrics; empty: off")
	flags.StringVar(&s.tokenFile, "token-file", "", "file with the token that gives access at --listen; required beyond loopback")
	flags.StringVar(&s.lookTokenFile, "look-token-file", "", "file with a second token, for people who may look and subscribe but not steer")
	flags.StringVar(&s.hubSecret, "websub-secret-file", "", "file with the secret that signs notices of WebSub hubs to /api/v1/websub; empty: notices are refused")
	flags.StringVar(&s.tlsCert, "tls-cert", "", "PEM file with the certificate for --listen; this or --plain-http is required beyond loopback")
	flags.StringVar(&s.tlsKey, "tls-key", "", "PEM file with the key of --tls-cert")
	flags.BoolVar(&s.plainHTTP, "plain-http", false, "allow --listen beyond loopback without TLS, for use behind a reverse proxy or in a container")
	flags.StringVar(&s.feed.objective, "objective", "freshness", "what the feed aims at for its subscribers' copies: freshness (current most of the time) or age (never out of date for long)")
	flags.StringVar(&s.feed.over, "over", "clients", "what counts equally for the feed: clients, or data (every page of every client)")
	flags.Var(&s.feed.rate, "feed-rate", "the most bytes per second that the feed sends; 0: as fast as its clients take them")
	flags.StringVar(&s.feed.scheduler, "feed-scheduler", scheduler.Default, "rule that decides what the feed sends next: "+strings.Join(scheduler.Names(), ", "))
	flags.StringVar(&s.feed.group, "feed-multicast", "", "multicast group, such as 239.255.83.50:8352, to which the feed sends once what several subscribers want; empty: off")
	flags.StringVar(&s.feed.on, "feed-interface", "", "network interface for --feed-multicast; empty: chosen by the system")
	s.feed.hooks.fits, s.feed.sinks.fits = isHook, isSink
	flags.Var(&s.feed.hooks, "webhook", "URL to which the change feed is posted (repeatable); private addresses need --allow-private")
	flags.StringVar(&s.feed.secretFile, "webhook-secret-file", "", "file with the secrets that sign what each --webhook receives: one per line, in the same order")
	flags.Var(&s.feed.sinks, "sink", "where the texts of pages are sent and kept up to date (repeatable): opensearch+https://HOST:9200/INDEX, nats://HOST:4222/SUBJECT or file:///FOLDER")
	flags.StringVar(&s.feed.uses, "sink-uses", "search,ai-input,ai-train", "uses that --sink serves; pages that disallow one of them are left out; empty: no page is left out")
	flags.BoolVar(&s.feed.index, "index", false, "keep a full-text index of the last version of every page, for freshet search and the window")
	flags.BoolVar(&s.feed.queries, "query-log", false, "record searches, their results and clicks, but not who made them; --weights clicks turns this on")
	flags.Var(&s.feed.queryAge, "query-log-age", "how long recorded searches are kept")
	flags.Var(&s.warcSize, "warc-size", "size at which the next WARC file is begun")
	s.segments.declare(flags)
	flags.Var(&s.keep, "keep", "how much of the past is kept: versions=N per page, age=D since a version was replaced, bytes=B of WARC files, tombstones=D in the change log; 0 for versions, age and bytes: no limit")
	flags.Var(&s.minFree, "min-free", "stop when the disk has less free space than this; 0: when it is full")
	flags.IntVar(o.WARCLevel, "warc-level", warc.FastLevel, "gzip level of WARC records: 1 is fastest, 9 is smallest, 0 is uncompressed")
	flags.StringVar(&s.trace, "record-trace", "", "append every link that is found to this file, for freshet seen: as fingerprints if its name ends in .u64, otherwise as URLs; .gz and .zst compress it")
	s.cluster.declare(flags)
	flags.Var(&s.clock, "clock", "speed of the crawl's clock, for trials on a web of your own: how many of its seconds pass in one; @TIME sets when it started, so that later runs agree")
	flags.StringVar(&s.logLevel, "log", "warn", "lowest level that is logged to standard error: debug, info, warn or error")

	check(flags, wholeFrom(1), "partitions", "shards", "per-connection", "connections", "pages-per-site")
	check(flags, wholeFrom(0), "max-pages", "max-depth", "retries")
	check(flags, notNegative, "adaptive-delay", "gamma")
	check(flags, validFleet, "fleet")
	check(flags, digit, "warc-level")
	check(flags, truth, "allow-private", "tdmrep", "plain-http", "refresh", "index", "query-log")
	check(flags, fraction, "discovery-share")
	check(flags, validCrawl, "crawl")
	check(flags, validScope, "scope")
	check(flags, validOrder, "order")
	check(flags, oneOf(frontier.RequisitesNames()...), "requisites")
	check(flags, oneOf("visible-text", "main-text"), "change-signal")
	check(flags, validListen, "listen")
	check(flags, validLevel, "log")
	check(flags, oneOf("freshness", "age"), "objective")
	check(flags, oneOf("clients", "data"), "over")
	check(flags, oneOf(scheduler.Names()...), "feed-scheduler")
	check(flags, validGroup, "feed-multicast")
	check(flags, validAgent, "user-agent")
	check(flags, validContact, "contact")
	return s
}

func validCrawl(name string) error {
	if name == "" {
		return errors.New("want a name")
	}
	return store.Options{Crawl: name}.Validate()
}

// validScope accepts the name of a scope, or a possible name of a file.
func validScope(name string) error {
	_, err := frontier.ParseScope(name)
	if err != nil && strings.ContainsAny(name, "./") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w, or a file of rules such as rules.yaml%s", err, meant(name, []string{"page", "site", "domain", "any"}))
	}
	return nil
}

func validOrder(name string) error {
	_, err := frontier.ParseOrdering(name)
	if err != nil {
		return fmt.Errorf("%w%s", err, meant(name, strings.FieldsFunc(frontier.OrderingNames(), func(r rune) bool { return r == ' ' || r == ',' })))
	}
	return nil
}

func validFleet(text string) error {
	_, err := fleet.ParseRule(text)
	return err
}

func validLevel(name string) error {
	var level slog.Level
	if level.UnmarshalText([]byte(name)) != nil {
		return fmt.Errorf("%q: want debug, info, warn or error", name)
	}
	return nil
}

func validAgent(name string) error {
	if product, _, _ := strings.Cut(name, "/"); product == "" {
		return fmt.Errorf("%q: want a name such as freshet or example-bot/1.0", name)
	}
	return printable(name)
}

const defaultListen = "127.0.0.1:8350"

// engineOptions checks the settings and returns the options of the engine.
func (s *crawlSettings) engineOptions(seeds []weburl.URL) (node.Options, error) {
	return s.optionsOf(seeds, true)
}

// optionsOf is engineOptions. asks says that the engine makes requests; without it the engine only takes orders and
// needs no contact.
func (s *crawlSettings) optionsOf(seeds []weburl.URL, asks bool) (node.Options, error) {
	o := s.options
	read, err := readRules(o.Scope, s.optOut)
	if err != nil {
		return o, command.Usage(err)
	}
	o.Scope, o.Rules, s.rules = read.scope, &read.rules, read.lines
	o.Dir, o.Seeds = s.data, seeds
	o.Delay, o.AddressDelay, o.For = time.Duration(s.delay), time.Duration(s.addressDelay), time.Duration(s.forTime)
	o.MaxBody, o.WARCSize, o.MinFree = int64(s.maxBody), int64(s.warcSize), int64(s.minFree)
	if o.Memory = int64(s.memory); o.Memory == 0 {
		o.Memory = memory.Default()
	}
	if err := memory.Check(o.Memory); err != nil {
		return o, command.Usage(fmt.Errorf("--memory: %w", err))
	}
	o.Keep, o.MainText = retain.Keep(s.keep), s.signal == "main-text"
	o.Fleet, _ = fleet.ParseRule(s.fleet) // checked when it was set
	o.Resolve = s.resolve
	o.Fetch.In, o.Fetch.Out = s.bandwidthIn.pace(), s.bandwidthOut.pace()
	o.Version, o.Clock = version(), s.clock.clock()
	if o.Refresh, err = s.refresh.options(); err != nil {
		return o, command.Usage(err)
	}
	if o.RetryDelay = time.Duration(s.retryDelay); o.RetryDelay <= 0 {
		return o, command.Usage(errors.New("--retry-delay: want more than 0s"))
	}
	if o.MaxBody == 0 || o.WARCSize == 0 {
		return o, command.Usage(errors.New("--max-body and --warc-size: want at least a byte"))
	}
	s.feed.queries = s.feed.queries || s.refresh.learnsClicks()
	if err := s.feed.validate(); err != nil {
		return o, command.Usage(err)
	}
	if o.Partitions > weburl.MaxPartitions {
		return o, command.Usage(fmt.Errorf("--partitions %d: want at most %d", o.Partitions, weburl.MaxPartitions))
	}
	o.Agent, _, _ = strings.Cut(s.userAgent, "/")
	o.UserAgent = s.userAgent
	if s.contact != "" {
		o.UserAgent = fmt.Sprintf("%s (+%s)", s.userAgent, s.contact)
	} else if asks && (o.Scope == "any" || o.Requisites == frontier.AllRequisites.String() || o.Rules.URLs.Include.Len() > 0 || !s.loopbackOnly(seeds)) {
		return o, command.Usage(errContact)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.logLevel)); err != nil {
		return o, err
	}
	o.Logger = newLogger(os.Stderr, level)
	return o, nil
}

// errContact is the error of a crawl beyond loopback without a contact.
var errContact = errors.New("--contact is needed: say who crawls, such as --contact mailto:you@example.org")

// loopbackOnly reports whether a crawl of the seeds' hosts reaches only loopback. Without seeds (a crawl continues)
// it uses --resolve.
func (s *crawlSettings) loopbackOnly(seeds []weburl.URL) bool {
	for _, u := range seeds {
		if !s.onLoopback(u.Host()) {
			return false
		}
	}
	for host := range s.resolve {
		if len(seeds) == 0 && !s.onLoopback(host) {
			return false
		}
	}
	return len(seeds) > 0 || len(s.resolve) > 0
}

func (s *crawlSettings) onLoopback(host string) bool {
	if target, named := s.resolve[host]; named {
		return target.Addr().IsLoopback()
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && address.IsLoopback()
}

func crawlCommand() *cobra.Command {
	var config string
	var asJSON, quiet bool
	var s *crawlSettings
	cmd := &cobra.Command{
		Use:   "crawl [URL…]",
		Short: "Discover and store the pages of sites",
		Long: "Starts at the given URLs, follows their links, and stores every page in WARC files under --data. It ends when\n" +
			"nothing is left to discover. A second run with the same --data continues where the first one stopped,\n" +
			"however it stopped. The first Ctrl-C completes the requests under way. A second one stops at once, and loses\n" +
			"nothing. While it runs, the window at http://127.0.0.1:8350/ shows what it does.\n\n" +
			"Start with --contact and perhaps --delay, --scope and --max-pages. The other settings have defaults that suit\n" +
			"most crawls.",
		Example: "  freshet crawl https://example.org/ --contact mailto:you@example.org\n" +
			"  freshet crawl --seeds seeds.txt --data archive --delay 5s --contact https://example.org/bot\n" +
			"  freshet crawl http://docs.test/ --resolve docs.test=127.0.0.2:8080 --allow-private --delay 0s",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := settle(cmd.Flags(), config, cmd.InOrStdin()); err != nil {
				return command.Usage(err)
			}
			seeds, err := readSeeds(args, s.seeds, cmd.InOrStdin())
			if err != nil {
				return command.Usage(err)
			}
			if info, err := os.Stat(s.data); s.data == "" || err == nil && !info.IsDir() {
				return command.Usage(fmt.Errorf("--data %q: want a directory, such as --data archive", s.data))
			}
			if len(seeds) == 0 && s.seeds != "" {
				return command.Usage(fmt.Errorf("--seeds %s: it has no URL: write one URL on each line", s.seeds))
			}
			if len(seeds) == 0 && !store.Exists(vfs.Default, s.data) {
				return command.Usage(fmt.Errorf("nothing to crawl: give a URL or --seeds FILE, because there is no crawl in %s to continue", s.data))
			}
			options, err := s.engineOptions(seeds)
			if err != nil {
				return err
			}
			return s.recorded(options, func(options node.Options) error {
				return runCrawl(cmd, options, s, nil, asJSON, quiet)
			})
		},
	}
	s = crawlFlags(cmd.Flags())
	cmd.Flags().StringVar(&config, "config", "", "YAML file with settings; - for standard input")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary as JSON, as the last line of standard output")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "do not show progress")
	return cmd
}

// recorded runs a crawl, and records its links if the settings say so. A failed recording does not end the crawl;
// recorded returns its error at the end.
func (s *crawlSettings) recorded(options node.Options, crawl func(node.Options) error) error {
	if s.trace == "" {
		return crawl(options)
	}
	w, err := trace.Create(s.trace)
	if err != nil {
		return err
	}
	options.OnLinks = func(links []weburl.Link) {
		for i := range links {
			w.Add(links[i].URL)
		}
	}
	err = crawl(options)
	if closing := w.Close(); err == nil {
		err = closing
	}
	return err
}

// limitMemory makes the garbage collector keep the process within a budget, unless GOMEMLIMIT is set.
func limitMemory(bytes int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(bytes)
	}
}

// An audience is who sees a crawl and hears of its changes, from the settings.
type audience struct {
	open  listening
	hooks []webhook.Hook
	uses  []consent.Use // what sinks use the texts for
}

// audience checks the settings that name one. serves is set if the process is a daemon, as a node of a cluster is.
func (s *crawlSettings) audience(flags *pflag.FlagSet, serves bool) (a audience, err error) {
	if a.open, err = s.listening(flags.Changed("listen")); err != nil {
		return a, err
	}
	if a.hooks, err = s.feed.webhooks(); err != nil {
		return a, err
	}
	if a.uses, err = usesOf(strings.FieldsFunc(s.feed.uses, func(r rune) bool { return r == ',' })); err != nil {
		return a, fmt.Errorf("--sink-uses: %w", err)
	}
	if len(s.cluster.servers) > 0 && !serves {
		return a, errors.New("--nats: only freshet serve can be a node of a cluster: use it instead of freshet crawl")
	}
	if s.cluster.copies > 0 && (s.feed.index || len(a.hooks)+len(s.feed.sinks.urls) > 0) {
		return a, errors.New("--copies: the node has only some of the partitions: give --index, --sink and --webhook to a node without it")
	}
	return a, nil
}

// runCrawl runs an engine to its end. d is nil unless it is a daemon.
func runCrawl(cmd *cobra.Command, options node.Options, s *crawlSettings, d *daemon, asJSON, quiet bool) error {
	to, err := s.audience(cmd.Flags(), d != nil)
	if err != nil {
		return command.Usage(err)
	}
	limitMemory(options.Memory)
	if err := s.segments.use(&options); err != nil {
		return usable(options.Dir, err)
	}
	member, err := s.cluster.join(cmd.Context(), &options)
	if err != nil {
		return err
	}
	news := newPublisher(s.feed, &options)
	plant(&options)
	engine, err := patiently(cmd.Context(), options.Dir, func() (*node.Node, error) { return node.Open(options) })
	if err != nil {
		return crawlError(errors.Join(err, member.leave(false)))
	}
	steering := steerer{engine: engine}
	if d != nil {
		steering.reload = d.reloader.reload
		d.reloader.engine = engine
	}
	now := statusBy(engine)
	front, err := serveStatus(steering, now, options, to.open, news, member.nodes(options.Partitions))
	if err != nil {
		return errors.Join(err, engine.Close(), member.leave(false))
	}
	if err := errors.Join(news.tell(engine.Store(), to.hooks), news.index(engine), news.hand(engine, to.uses)); err != nil {
		news.end()
		front.stop()
		return errors.Join(err, news.close(), engine.Close(), member.leave(false))
	}
	news.sweepQueries()
	soft, hard, stop := interruptible(cmd.Context())
	defer stop()
	progress := crawlProgress(now, options, quiet)
	if d != nil {
		d.begin(front.window, to.open.address)
		watching, silence := context.WithCancel(soft)
		d.silence = silence
		d.done.Go(func() { d.say(watching, now, options, len(s.cluster.servers) == 0) })
	}
	unwatch := func() {}
	if s.watch != nil {
		unwatch = s.watch(engine)
	}
	if err := member.begin(soft, engine, d); err != nil {
		engine.Fail(err)
	}
	summary, err := engine.Run(soft, hard)
	member.stay()
	status := engine.Status()
	untried := asksNothingAgain(summary, engine.Store())
	if summary.Trouble == nil {
		summary.Trouble = unanswered(engine, options.Seeds, summary, status)
	}
	unwatch()
	progress.stop()
	if d != nil {
		d.end()
	}
	news.end()
	err = cmp.Or(err, news.catchUp(soft))
	front.stop()
	if options.Segments != nil && d == nil { // a crawl that ends by itself uploads everything first
		options.Segments.Finish(soft)
	}
	err = cmp.Or(err, errors.Join(news.close(), engine.Close()))
	err = cmp.Or(err, member.leave(err == nil))
	if asJSON {
		err = cmp.Or(err, json.NewEncoder(cmd.OutOrStdout()).Encode(summary))
	} else {
		printSummary(cmd.OutOrStdout(), summary, status.ClockRate)
	}
	if err != nil {
		return crawlError(err)
	}
	return outcome(summary, untried, s.ends, status.DiskFreeBytes, options.MinFree)
}

// outcome returns the exit code and error of a crawl that ran without an error. untried is set if it asked for nothing
// again, and ends if it is meant to end when its time is up. free is the disk space that is left, and least what is to
// stay free, in bytes.
func outcome(s node.Summary, untried, ends bool, free, least int64) error {
	switch {
	case s.StoppedBy == crawl.Signal && s.Trouble != nil:
		return &command.Error{Code: command.ExitInterrupted, Err: fmt.Errorf("nothing was stored: %s", s.Trouble)}
	case s.StoppedBy == crawl.Signal:
		return &command.Error{Code: command.ExitInterrupted}
	case untried:
		return fmt.Errorf("nothing was stored: %s; this run asked for no page: one that failed is asked for again only after freshet recrawl", s.Trouble)
	case s.Trouble != nil:
		return fmt.Errorf("nothing was stored: %s", s.Trouble)
	case s.StoppedBy == crawl.TimeUp && ends:
		return nil
	case s.StoppedBy == crawl.DiskFull:
		return &command.Error{Code: command.ExitLimit, Err: fmt.Errorf("the disk has %s free, and --min-free asks for %s: free some space or lower --min-free, and run again",
			units.Bytes(free), units.Bytes(least))}
	case s.StoppedBy == crawl.MaxPages || s.StoppedBy == crawl.TimeUp:
		return &command.Error{Code: command.ExitLimit}
	}
	return nil
}

// asksNothingAgain reports whether a crawl stored nothing and asked for no page because all had failed in a run before.
func asksNothingAgain(s node.Summary, db *store.Store) bool {
	if s.Trouble == nil || s.URLsFailed > 0 || s.RobotsWaiting > 0 {
		return false
	}
	total, err := db.Total()
	return err == nil && total.States[store.StateError]+total.States[store.StateMissing] > 0
}

// unanswered returns why a run stored nothing, although earlier runs did: nobody answered, as without a network. It
// returns nil if a single byte came, or if nothing was asked for.
func unanswered(engine *node.Node, seeds []weburl.URL, s node.Summary, status node.Status) *explain.Trouble {
	if s.Pages+s.Requisites+status.NotModified+s.Bytes > 0 || s.StoppedBy != crawl.FrontierEmpty && s.StoppedBy != crawl.TimeUp {
		return nil
	}
	remedy := "check the network, for example with freshet doctor, and whether the servers are up"
	if s.URLsFailed > 0 {
		var classes []string
		for _, class := range slices.Sorted(maps.Keys(status.Errors)) {
			classes = append(classes, fmt.Sprintf("%s %s", units.Count(status.Errors[class]), class))
		}
		cause := fmt.Sprintf("this run got no answer to %s (%s)", units.Plural(s.URLsFailed, "request"), strings.Join(classes, ", "))
		return &explain.Trouble{Cause: cause, Remedy: remedy}
	}
	if s.RobotsWaiting == 0 {
		return nil
	}
	var trouble *explain.Trouble
	for _, seed := range seeds[:min(len(seeds), 20)] {
		explained, err := engine.Explain(seed.String())
		waits := func(g explain.Checked) bool { return g.Gate == "robots" && g.Reason == robots.ReasonUnreachable }
		if err != nil || !slices.ContainsFunc(explained.Gates, waits) {
			return nil
		}
		trouble = cmp.Or(trouble, explained.Trouble, &explain.Trouble{Cause: "the site of no seed answered", Remedy: remedy})
	}
	return trouble
}

// span formats the duration of a crawl by its own clock. If that runs at another rate, it adds the duration and the
// pages per second by the machine's clock.
func span(s node.Summary, rate float64) string {
	took := func(seconds float64) string { return units.Span(time.Duration(seconds * 1e9)) }
	if rate == 1 {
		return fmt.Sprintf("%s (%.1f pages/s)", took(s.DurationS), s.PagesPerS)
	}
	return fmt.Sprintf("%s (%s by the machine's clock, %.1f pages/s)", took(s.DurationS), took(s.DurationS/rate), s.PagesPerS*rate)
}

// crawlError gives the error of a crawl its exit code.
func crawlError(err error) error {
	switch {
	case errors.Is(err, store.ErrDiskFull):
		return &command.Error{Code: command.ExitLimit, Err: fmt.Errorf("the disk is full, and what is stored is intact: free some space and run again: %w", err)}
	case errors.Is(err, node.ErrNothing):
		return command.Usage(err)
	}
	return err
}

// interruptible returns a context that ends with the first SIGINT or SIGTERM and one that ends with
// the second, after which a third ends the process.
func interruptible(parent context.Context) (soft, hard context.Context, stop func()) {
	soft, cancelSoft := context.WithCancel(parent)
	hard, cancelHard := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for _, step := range []struct {
			end  func()
			says string
		}{{cancelSoft, "finishing the requests under way; press Ctrl-C again to stop at once"}, {cancelHard, "stopping at once; nothing is lost"}} {
			select {
			case <-signals:
				fmt.Fprintln(os.Stderr, "freshet:", step.says)
				step.end()
			case <-done:
				return
			}
		}
		signal.Stop(signals)
	}()
	return soft, hard, func() {
		close(done)
		signal.Stop(signals)
		cancelSoft()
		cancelHard()
	}
}
