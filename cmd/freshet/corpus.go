package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/dashboard"
	"freshet/dashboard/units"
	"freshet/index"
	"freshet/node"
	"freshet/store"
	"freshet/text"
	"freshet/text/stored"
	"freshet/weburl"
)

// corpus reads the texts of a store for the API.
type corpus struct {
	reader
	clock *clock.Clock
	open  func() (*index.Index, error) // the index; its error is index.ErrNone if there is none
	temp  string                       // folder for temporary files; "": that of the machine

	mu    sync.Mutex // guards texts; one text is read at a time, so a hostile one costs one processor
	texts *stored.Reader
}

// newCorpus returns the corpus of a store. open is called for every search.
func newCorpus(r reader, c *clock.Clock, open func() (*index.Index, error)) *corpus {
	return &corpus{reader: r, clock: c, open: open}
}

// close frees the resources of the corpus, after the last question.
func (c *corpus) close() {
	if c.texts != nil {
		c.texts.Close()
	}
}

// ask calls do with the reader of texts.
func (c *corpus) ask(do func(*stored.Reader) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.texts == nil {
		c.texts = stored.NewReader(c.store, text.Limits{})
	}
	return do(c.texts)
}

// Text implements dashboard.Corpus.
func (c *corpus) Text(ctx context.Context, raw string, number uint32, at time.Time, markdown bool) (out dashboard.Text, err error) {
	page, version, err := c.version(raw, number, at)
	if err != nil {
		return out, err
	}
	var said text.Document
	err = c.ask(func(texts *stored.Reader) error {
		said, err = texts.Document(ctx, page.URL, &version, markdown)
		return err
	})
	if errors.Is(err, stored.ErrNoText) {
		err = fmt.Errorf("%w: %w", dashboard.ErrNotFound, err)
	}
	return dashboard.Text{URL: page.URL.String(), Version: version.Number, At: time.Unix(0, version.At).UTC(), Title: said.Title,
		Byline: said.Byline, Date: when(said.Date), Language: said.Language, Text: said.Text, Markdown: said.Markdown, SiteLearned: said.Model,
		Signals: versionOf(version, page).Signals}, err
}

// Duplicates implements dashboard.Corpus.
func (c *corpus) Duplicates(ctx context.Context) iter.Seq2[dashboard.Duplicates, error] {
	return func(yield func(dashboard.Duplicates, error) bool) {
		compared, err := c.compare(ctx)
		if err != nil {
			yield(dashboard.Duplicates{}, err)
			return
		}
		for members := range compared.groups() {
			group, err := compared.describe(members)
			if !yield(group, err) || err != nil {
				return
			}
		}
	}
}

// Search implements dashboard.Corpus.
func (c *corpus) Search(ctx context.Context, s dashboard.Search) (out dashboard.Found, err error) {
	pages, err := c.open()
	if errors.Is(err, index.ErrNone) {
		err = fmt.Errorf("%w: index of this crawl (run the crawl again with --index to make one)", dashboard.ErrNotFound)
	}
	if err != nil {
		return out, err
	}
	q := index.Query{Words: s.Words, Language: s.Language, Since: s.Since, Before: s.Before, From: s.From, Limit: s.Limit}
	if s.Site != "" {
		u, err := weburl.Parse(s.Site)
		if err != nil {
			return out, wrong(fmt.Errorf("site %.50q: want a site such as https://example.org", s.Site))
		}
		q.Site = u.Site()
	}
	found, err := pages.Search(ctx, q)
	if errors.Is(err, index.ErrQuery) {
		err = wrong(err)
	}
	if err != nil {
		return out, err
	}
	out = dashboard.Found{Partial: found.Partial, Looked: int64(found.Looked), Most: int64(found.Most)}
	for _, f := range found.Hits {
		out.Hits = append(out.Hits, dashboard.Hit{URL: f.Page.URL.String(), Title: f.Title, Snippet: f.Snippet, Score: f.Score, Site: string(f.Page.URL.Site()),
			Language: f.Language, LastFetched: whenNs(f.Page.LastFetched), Version: f.Page.Versions, Freshness: c.freshness(f.Page)})
	}
	return out, nil
}

// freshness returns the probability that a page has not changed since its last fetch, or nil if too little is known.
func (c *corpus) freshness(row store.PageAt) *float64 {
	visits, err := c.store.Visits(c.store.Home(row.URL.Site()), row.Fingerprint)
	if err != nil {
		return nil
	}
	model, ok := node.FitVisits(visits)
	if !ok {
		return nil
	}
	days := c.clock.Now().Sub(time.Unix(0, row.LastFetched)).Hours() / 24
	return new(math.Exp(-model.RatePerDay * max(0, days)))
}

// indexDir returns the folder of a crawl's index.
func indexDir(data, crawl string) string { return filepath.Join(data, "index", crawl) }

// indexed keeps the index of a running crawl until the publisher's end, if the settings say so.
func (p *publisher) index(engine *node.Node) error {
	if !p.settings.index {
		return nil
	}
	pages, err := index.Open(index.Options{Dir: indexDir(p.dir, p.crawl), Store: engine.Store(), Bell: &p.bell, Clock: p.clock, Logger: p.logger, Rest: engine.Consumer("index")})
	if err != nil {
		return err
	}
	p.pages.Store(pages)
	p.running.Go(func() {
		if err := pages.Run(p.ctx); err != nil {
			p.logger.Error("the index is no longer updated", "error", err)
		}
	})
	return nil
}

// catchUp brings webhooks, sinks and the index up to the end of the crawl, after end, unless ctx ends before.
func (p *publisher) catchUp(ctx context.Context) error {
	p.tellRest(ctx)
	err := p.handRest(ctx)
	if pages := p.pages.Load(); pages != nil {
		err = errors.Join(err, pages.CatchUp(ctx))
	}
	return err
}

// corpus returns the corpus of a running crawl. It is valid until close.
func (p *publisher) corpus(s *store.Store) *corpus {
	p.texts = newCorpus(newReader(s), p.clock, p.searched)
	p.texts.temp = filepath.Join(p.dir, "tmp") // a container may have no other place
	return p.texts
}

// close frees the resources for questions and sinks, after the last of them.
func (p *publisher) close() error {
	p.texts.close()
	var err error
	for _, to := range p.targets {
		err = errors.Join(err, to.Close())
	}
	if pages := p.pages.Load(); pages != nil {
		err = errors.Join(err, pages.Close())
	}
	return err
}

// searched returns the index of the running crawl.
func (p *publisher) searched() (*index.Index, error) {
	if pages := p.pages.Load(); pages != nil {
		return pages, nil
	}
	return nil, index.ErrNone
}

func textCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "text URL", Short: "Print the main text of a stored page", Args: command.OneArg("URL"),
		Long: "Prints the title and the main text of a version. Navigation, footers and other text that repeats on the stored pages\n" +
			"of the site are left out.",
		Example: "  freshet text https://example.org/\n  freshet text --markdown https://example.org/ > page.md",
	}
	data, crawl := directoryFlags(cmd)
	version := cmd.Flags().Uint32("version", 0, "number of the version; 0: the newest")
	at := cmd.Flags().String("at", "", "the version that was current at this time, such as 2026-01-31T12:00:00Z")
	markdown := cmd.Flags().Bool("markdown", false, "print Markdown")
	asJSON := cmd.Flags().Bool("json", false, "print JSON, with the byline, the date and the language")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := parseURL(args[0]); err != nil {
			return command.Usage(err)
		}
		query := url.Values{"url": args, "at": {*at}, "version": {fmt.Sprint(*version)}, "markdown": {fmt.Sprint(*markdown)}}
		return look(cmd.Context(), *data, *crawl, "/api/v1/text", query, func(body io.Reader) error {
			if *asJSON {
				_, err := io.Copy(cmd.OutOrStdout(), body)
				return err
			}
			var said dashboard.Text
			if err := json.NewDecoder(body).Decode(&said); err != nil {
				return err
			}
			if *markdown {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), said.Markdown)
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s\n", said.Title, said.Text)
			return err
		})
	}
	return cmd
}

func searchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "search WORDS", Short: "Search the text of the stored pages", Args: someArgs("word"),
		Long: "Lists the pages that have all the words, the best first. It needs an index, which a crawl keeps with --index.\n" +
			"\"In quotes\" searches for a phrase, and -word leaves out pages with that word. Enclose such words in single quotes\n" +
			"for the shell, and put -- before words that begin with -. If common words are on more pages than it looks at, it says\n" +
			"that the results are partial.",
		Example: "  freshet search window functions\n  freshet search --site https://example.org --json '\"group by\" -having'\n" +
			"  freshet search --limit 3 -- window -frame",
	}
	data, crawl := directoryFlags(cmd)
	filters := map[string]*string{}
	for _, f := range [][2]string{
		{"site", "only pages of this site, such as https://example.org"},
		{"language", "only pages in this language, such as en"},
		{"since", "only pages that changed at or after this time, such as 2026-01-31T12:00:00Z"},
		{"before", "only pages whose last change was before this time"},
	} {
		filters[f[0]] = cmd.Flags().String(f[0], "", f[1])
	}
	limit := cmd.Flags().Int("limit", 10, "number of hits, at most 100")
	from := cmd.Flags().Int("from", 0, "number of hits to skip")
	asJSON := cmd.Flags().Bool("json", false, "print JSON, one hit per line")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *limit < 1 {
			return command.Usage(fmt.Errorf("--limit %d: want a number from 1 to 100", *limit))
		}
		query := url.Values{"q": {strings.Join(args, " ")}, "limit": {fmt.Sprint(*limit)}, "from": {fmt.Sprint(*from)},
			"noted": {"false"}} // nobody knows which hits are read further
		for name, value := range filters {
			query.Set(name, *value)
		}
		return lookOften(cmd.Context(), *data, *crawl, func(ask asking) error {
			return ask("/api/v1/search", query, func(answer *http.Response) error {
				hits := 0
				err := eachLine(answer.Body, func(line []byte, hit dashboard.Hit) error {
					hits++
					if *asJSON {
						_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", line)
						return err
					}
					fresh := ""
					if hit.Freshness != nil {
						fresh = fmt.Sprintf(", %.0f %% likely to be up to date", 100**hit.Freshness)
					}
					_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n  %s\n  %s\n  fetched %s%s\n", hit.Title, hit.URL, hit.Snippet, stamp(hit.LastFetched), fresh)
					return err
				})
				if err == nil && hits == 0 {
					fmt.Fprintln(cmd.ErrOrStderr(), "no page matches")
				}
				var looked, most int64
				if n, _ := fmt.Sscanf(answer.Header.Get(dashboard.PartialHeader), "looked=%d, most=%d", &looked, &most); n == 2 {
					fmt.Fprintf(cmd.ErrOrStderr(), "partial results: %s of at most %s pages with these words were looked at: add a word that few pages have, or --site\n", units.Count(looked), units.Count(most))
				}
				return err
			})
		})
	}
	return cmd
}

// printDuplicates prints groups of pages, as JSON or for people.
func printDuplicates(out io.Writer, body io.Reader, asJSON bool) error {
	return eachLine(body, func(line []byte, group dashboard.Duplicates) error {
		if asJSON {
			_, err := fmt.Fprintf(out, "%s\n", line)
			return err
		}
		kind := "near"
		if group.Exact {
			kind = "exact"
		}
		_, err := fmt.Fprintf(out, "%d\t%s\t%s\n", group.Pages, kind, strings.Join(group.URLs, " "))
		return err
	})
}

// eachLine calls do for every line of an answer. A line with an error ends it.
func eachLine[T any](body io.Reader, do func(line []byte, value T) error) error {
	lines := bufio.NewReaderSize(body, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := faultOf(line); err != nil {
			return err
		}
		var value T
		if err := json.Unmarshal(line, &value); err != nil {
			return err
		}
		if err := do(bytes.TrimRight(line, "\n"), value); err != nil {
			return err
		}
	}
}

// faultOf returns the error in a line of an answer.
func faultOf(line []byte) error {
	if !bytes.HasPrefix(line, []byte(`{"error":`)) {
		return nil
	}
	var told struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(line, &told); err != nil {
		return err
	}
	return errors.New(told.Error)
}
