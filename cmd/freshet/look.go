package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/dashboard"
	"freshet/index"
	"freshet/store"
)

// look sends a question to the API of the crawl that runs in a data directory. If none runs, it uses the same API
// over the directory itself.
func look(ctx context.Context, data, crawl, path string, query url.Values, read func(io.Reader) error) error {
	return lookOften(ctx, data, crawl, func(ask asking) error {
		return ask(path, query, func(answer *http.Response) error { return read(answer.Body) })
	})
}

// asking asks the API of a directory, and has read read an answer of 200.
type asking func(path string, query url.Values, read func(*http.Response) error) error

// lookOften is look for several questions to one API.
func lookOften(ctx context.Context, data, crawl string, run func(asking) error) error {
	way, err := patiently(ctx, data, func() (*api, error) {
		return apiOf(ctx, data, func() (*api, error) { return readingAPI(ctx, data, crawl) })
	})
	if err != nil {
		return err
	}
	defer func() { _ = way.close() }()
	return run(func(path string, query url.Values, read func(*http.Response) error) error {
		if query == nil {
			query = url.Values{}
		}
		query.Set(dashboard.CrawlParameter, crawl)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path+"?"+query.Encode(), nil)
		if err != nil {
			return err
		}
		return way.ask(request, read)
	})
}

// api is a client of a directory's API.
type api struct {
	http.RoundTripper
	close func() error
}

// apiOf returns the API of the crawl that runs in a directory. If none runs, it returns that of stopped.
func apiOf(ctx context.Context, data string, stopped func() (*api, error)) (*api, error) {
	if way, ok := apiAt(ctx, filepath.Join(data, socketName)); ok {
		return way, nil
	}
	return stopped()
}

// apiAt returns the API at a socket. ok is false if nobody listens there.
func apiAt(ctx context.Context, socket string) (way *api, ok bool) {
	conn, err := dialSocket(ctx, socket)
	if err != nil {
		return nil, false
	}
	conn.Close()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialSocket(ctx, socket)
	}}
	return &api{transport, func() error {
		transport.CloseIdleConnections()
		return nil
	}}, true
}

// readingAPI returns an API over a directory without a running crawl: that of freshet view, if it has the directory.
func readingAPI(ctx context.Context, data, crawl string) (*api, error) {
	s, err := openStore(data, store.Options{Crawl: crawl, ReadOnly: true})
	if errors.Is(err, store.ErrLocked) {
		if way, ok := apiAt(ctx, filepath.Join(data, viewSocketName)); ok {
			return way, nil
		}
	}
	if err != nil {
		return nil, err
	}
	options, end := readingOptions(s, data, crawl)
	return inProcessAPI(options, func() error { return errors.Join(end(), s.Close()) }), nil
}

// readingOptions returns the options of an API over a directory without a running crawl. Call end before the store is
// closed.
func readingOptions(s *store.Store, data, crawl string) (options dashboard.Options, end func() error) {
	var opened *index.Index
	texts := newCorpus(newReader(s), clock.Real(), sync.OnceValues(func() (pages *index.Index, err error) {
		opened, err = index.OpenToSearch(index.Options{Dir: indexDir(data, crawl), Store: s})
		return opened, err
	}))
	options = apiOptions(newReader(s), nil)
	options.Corpus = texts
	return options, func() error {
		texts.close()
		if opened == nil {
			return nil
		}
		return opened.Close()
	}
}

// inProcessAPI serves an API without a socket. When it is closed it waits for running requests and calls end.
func inProcessAPI(o dashboard.Options, end func() error) *api {
	local := &inProcess{handler: dashboard.Handler(o)}
	return &api{local, func() error {
		local.running.Wait()
		return end()
	}}
}

// ask sends a request and calls read with the answer. It returns the error if the answer is one.
func (a *api) ask(request *http.Request, read func(*http.Response) error) error {
	client := http.Client{Transport: a}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return read(response)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return err
	}
	var fault struct{ Error string }
	if json.Unmarshal(text, &fault) != nil || fault.Error == "" {
		fault.Error = fmt.Sprintf("%s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	if response.StatusCode == http.StatusBadRequest {
		return command.Usage(errors.New(fault.Error))
	}
	return errors.New(fault.Error)
}

// onlyCrawl refuses requests for a crawl other than the one that is running or shown, as state says.
func onlyCrawl(name, state string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.URL.Query().Get(dashboard.CrawlParameter)
		if asked == "" || asked == name {
			next.ServeHTTP(w, r)
			return
		}
		dashboard.Refuse(w, http.StatusConflict, fmt.Errorf("crawl %q is %s: look at %q and steer it when that has ended", name, state, asked))
	})
}

// inProcess is a transport that calls a handler, without a socket.
type inProcess struct {
	handler http.Handler
	running sync.WaitGroup
}

// RoundTrip implements http.RoundTripper. The handler runs until the body is read or closed.
func (p *inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	body, out := io.Pipe()
	w := &pipedResponse{header: http.Header{}, out: out, begun: make(chan int, 1)}
	p.running.Go(func() {
		out.CloseWithError(p.serve(w, r))
	})
	code := <-w.begun
	return &http.Response{StatusCode: code, Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), Header: w.header, Body: body, Request: r}, nil
}

// serve calls the handler like a server. If the handler aborts the answer, serve returns an error.
func (p *inProcess) serve(w *pipedResponse, r *http.Request) (err error) {
	defer func() {
		if broken := recover(); broken == http.ErrAbortHandler {
			err = errors.New("what is stored cannot be decoded completely")
		} else if broken != nil {
			panic(broken)
		}
	}()
	p.handler.ServeHTTP(w, r)
	w.WriteHeader(http.StatusOK)
	return nil
}

// pipedResponse is the handler's side of inProcess.
type pipedResponse struct {
	header http.Header
	out    *io.PipeWriter
	begun  chan int // gets the status code once
	wrote  bool
}

func (w *pipedResponse) Header() http.Header { return w.header }

func (w *pipedResponse) WriteHeader(code int) {
	if !w.wrote {
		w.wrote = true
		w.begun <- code
	}
}

func (w *pipedResponse) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(p)
}

func statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "Show what a crawl is doing, or has done", Args: command.NoArgs,
		Long: `On a node of a cluster, "pages by state" and "versions" count all that the node has; the other numbers are of the
partitions that it crawls.`,
		Example: "  freshet status --data archive\n  freshet status --json",
	}
	data, crawl := directoryFlags(cmd)
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return look(cmd.Context(), *data, *crawl, "/api/v1/status", nil, func(body io.Reader) error {
			if *asJSON {
				_, err := io.Copy(cmd.OutOrStdout(), body)
				return err
			}
			rows, err := dashboard.Rows(body)
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, row := range rows {
				fmt.Fprintf(table, "%s\t%s\n", row.Name, row.Value)
			}
			return errors.Join(err, table.Flush())
		})
	}
	return cmd
}

func pagesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "pages", Short: "List the known pages and their states", Args: command.NoArgs,
		Example: "  freshet pages --json | head\n  freshet pages --site https://example.org --state missing\n  freshet pages --changed-since 2026-01-31T00:00:00Z",
	}
	data, crawl := directoryFlags(cmd)
	filters := map[string]*string{}
	for _, f := range [][2]string{
		{"site", "only pages of this site, such as https://example.org"},
		{"state", "only pages in this state: pending, live, redirect, moved, missing, gone, error, unreached, denied, withdrawn, purged"},
		{"status", "only pages whose last answer had this HTTP status, such as 404"},
		{"changed-since", "only pages that changed at or after this time, such as 2026-01-31T12:00:00Z"},
		{"fetched-before", "only pages that were last fetched before this time, or never"},
		{"due-before", "only pages that are due before this time"},
	} {
		filters[f[0]] = cmd.Flags().String(f[0], "", f[1])
	}
	check(cmd.Flags(), validState, "state")
	check(cmd.Flags(), validSite, "site")
	check(cmd.Flags(), validStatus, "status")
	check(cmd.Flags(), validTime, "changed-since", "fetched-before", "due-before")
	duplicates := cmd.Flags().Bool("duplicates", false, "print groups of pages with nearly the same text instead")
	skipped := cmd.Flags().Bool("skipped", false, "print what was not fetched or not kept instead: reasons, counts and samples")
	asJSON := cmd.Flags().Bool("json", false, "print JSON, one object per line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *duplicates {
			return look(cmd.Context(), *data, *crawl, "/api/v1/duplicates", nil, func(body io.Reader) error { return printDuplicates(cmd.OutOrStdout(), body, *asJSON) })
		}
		if *skipped {
			return lookOften(cmd.Context(), *data, *crawl, func(ask asking) error {
				skipped, err := allSkipped(ask)
				if err != nil {
					return err
				}
				return skipped.print(cmd.OutOrStdout(), *asJSON)
			})
		}
		query := url.Values{}
		for name, text := range filters {
			if name == "site" && *text != "" {
				site, _ := siteOf(*text) // checked when it was set
				*text = string(site)
			}
			query.Set(strings.ReplaceAll(name, "-", "_"), *text)
		}
		return look(cmd.Context(), *data, *crawl, "/api/v1/pages", query, func(body io.Reader) error {
			out := bufio.NewWriter(cmd.OutOrStdout())
			aligned := isTerminal(cmd.OutOrStdout()) && !*asJSON
			if aligned {
				fmt.Fprintf(out, pageColumns, "STATE", "STATUS", "VERSION", "LAST VISIT", "URL")
			}
			n, err := printPages(out, body, *asJSON, aligned)
			if n == 0 && err == nil && slices.ContainsFunc(slices.Collect(maps.Keys(query)), func(name string) bool { return query.Get(name) != "" }) {
				fmt.Fprintln(cmd.ErrOrStderr(), "no page matches")
			}
			return errors.Join(err, out.Flush())
		})
	}
	return cmd
}

// validState accepts the name of a page state.
func validState(name string) error {
	if slices.Contains(dashboard.PageStates, name) {
		return nil
	}
	return fmt.Errorf("%q: want one of %s%s", name, strings.Join(dashboard.PageStates, ", "), meant(name, dashboard.PageStates))
}

// validStatus accepts an HTTP status.
func validStatus(text string) error {
	if status, err := strconv.Atoi(text); err != nil || status < 0 || status > 999 {
		return fmt.Errorf("%q: want a number such as 404", text)
	}
	return nil
}

// validTime accepts a time.
func validTime(text string) error {
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return fmt.Errorf("%q: want a time such as 2026-01-31T12:00:00Z", text)
	}
	return nil
}

// validSite accepts the name of a site.
func validSite(name string) error {
	_, err := siteOf(name)
	return err
}

// pageColumns is the format of a line of the page table on a terminal. Elsewhere, tabs separate the columns.
const pageColumns = "%-9s  %6v  %7v  %-20s  %s\n"

// printPages prints the lines of the page table, as JSON or for people, and returns their number.
func printPages(out io.Writer, body io.Reader, asJSON, aligned bool) (n int, err error) {
	err = eachLine(body, func(line []byte, page dashboard.Page) (err error) {
		n++
		switch {
		case asJSON:
			_, err = fmt.Fprintf(out, "%s\n", line)
		case aligned:
			_, err = fmt.Fprintf(out, pageColumns, page.State, page.Status, page.Version, stamp(page.LastFetched), page.URL)
		default:
			_, err = fmt.Fprintf(out, "%s\t%d\tv%d\t%s\t%s\n", page.State, page.Status, page.Version, stamp(page.LastFetched), page.URL)
		}
		return err
	})
	return n, err
}

// skippedWhole is all that was not fetched or kept, as pages --skipped --json prints it.
type skippedWhole struct {
	Links map[string]int64         `json:"links"` // that a gate refused, by its reason
	Pages []dashboard.SkippedPages `json:"pages"` // by reason
}

// samplesShown is how many URLs of each reason are printed.
const samplesShown = 5

// allSkipped asks for all parts of what was skipped.
func allSkipped(ask asking) (all skippedWhole, err error) {
	all = skippedWhole{Links: map[string]int64{}, Pages: []dashboard.SkippedPages{}}
	for after, more := "", true; more; more = after != "" {
		var part dashboard.Skipped
		err := ask("/api/v1/skipped", url.Values{"after": {after}}, func(answer *http.Response) error { return json.NewDecoder(answer.Body).Decode(&part) })
		if err != nil {
			return all, err
		}
		for reason, n := range part.Refused {
			all.Links[reason] += n
		}
		for _, pages := range part.Pages {
			at, found := slices.BinarySearchFunc(all.Pages, pages.Reason, func(of dashboard.SkippedPages, reason string) int { return strings.Compare(of.Reason, reason) })
			if !found {
				all.Pages = slices.Insert(all.Pages, at, dashboard.SkippedPages{Reason: pages.Reason})
			}
			of := &all.Pages[at]
			of.Count += pages.Count
			of.URLs = append(of.URLs, pages.URLs[:min(len(pages.URLs), samplesShown-len(of.URLs))]...)
		}
		after = part.Next
	}
	for _, of := range all.Pages {
		if all.Links[of.Reason] -= of.Count; all.Links[of.Reason] <= 0 { // a site counts both
			delete(all.Links, of.Reason)
		}
	}
	return all, nil
}

// print prints what was skipped, as JSON or for people.
func (s skippedWhole) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(s)
	}
	for _, reason := range slices.Sorted(maps.Keys(s.Links)) {
		fmt.Fprintf(out, "links\t%d\t%s\n", s.Links[reason], reason)
	}
	for _, pages := range s.Pages {
		fmt.Fprintf(out, "pages\t%d\t%s\t%s\n", pages.Count, pages.Reason, strings.Join(pages.URLs, " "))
	}
	return nil
}

func stamp(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format(time.RFC3339)
}

func historyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "history URL", Short: "Show the visits and versions of a page", Args: command.OneArg("URL"),
		Example: "  freshet history https://example.org/",
	}
	data, crawl := directoryFlags(cmd)
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := parseURL(args[0]); err != nil {
			return command.Usage(err)
		}
		return look(cmd.Context(), *data, *crawl, "/api/v1/history", url.Values{"url": args}, func(body io.Reader) error {
			if *asJSON {
				_, err := io.Copy(cmd.OutOrStdout(), body)
				return err
			}
			var h dashboard.History
			if err := json.NewDecoder(body).Decode(&h); err != nil {
				return err
			}
			printHistory(cmd.OutOrStdout(), h)
			return nil
		})
	}
	return cmd
}

func printHistory(out io.Writer, h dashboard.History) {
	fmt.Fprintf(out, "%s  %s\n", h.Page.URL, h.Page.State)
	if m := h.Model; m != nil {
		fmt.Fprintf(out, "model    %s, %.3g changes a day; %d of %d visits found a change", m.Process, m.RatePerDay, m.Changed, m.Visits)
		if m.PeriodS > 0 {
			fmt.Fprintf(out, "; every %s, %s after a full one", inWords(m.PeriodS), inWords(m.PhaseS))
		}
		fmt.Fprintln(out)
	}
	for _, v := range h.Visits {
		word := "same"
		switch {
		case v.Noise:
			word = "noise"
		case v.Changed:
			word = "changed"
		case v.Outcome != "stored" && v.Outcome != "not-modified":
			word = "-"
		}
		fmt.Fprintf(out, "visit    %s  %-12s %3d  %-7s v%d  %d bytes  %.3fs  %s\n",
			v.At.Format(time.RFC3339), v.Outcome, v.Status, word, v.Version, v.WireBytes, v.TookS, v.Reason)
	}
	for _, v := range h.Versions {
		fmt.Fprintf(out, "version  %s  v%d  %s  %d bytes  %s  %s %d+%d\n",
			v.At.Format(time.RFC3339), v.Version, strings.Map(harmless, v.ContentType), v.SizeBytes, v.Digest, v.WARC, v.OffsetBytes, v.LengthBytes)
	}
}

func inWords(seconds float64) string {
	return command.ShortDuration(time.Duration(seconds * 1e9).Round(time.Minute))
}

func catCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cat URL", Short: "Write the body of a stored version", Args: command.OneArg("URL"),
		Long:    "Writes the decoded body of a version to standard output.",
		Example: "  freshet cat https://example.org/ > page.html\n  freshet cat --at 2026-01-31T12:00:00Z https://example.org/",
	}
	data, crawl := directoryFlags(cmd)
	version := cmd.Flags().Uint32("version", 0, "number of the version; 0: the newest")
	at := cmd.Flags().String("at", "", "the version that was current at this time, such as 2026-01-31T12:00:00Z")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		query := url.Values{"url": args}
		if _, err := parseURL(args[0]); err != nil {
			return command.Usage(err)
		}
		if _, err := time.Parse(time.RFC3339, *at); *at != "" && err != nil {
			return command.Usage(fmt.Errorf("--at %q: want a time such as 2026-01-31T12:00:00Z", *at))
		}
		if *version != 0 {
			query.Set("version", fmt.Sprint(*version))
		}
		if *at != "" {
			query.Set("at", *at)
		}
		return look(cmd.Context(), *data, *crawl, "/api/v1/content", query, func(body io.Reader) error {
			_, err := io.Copy(cmd.OutOrStdout(), body)
			return err
		})
	}
	return cmd
}
