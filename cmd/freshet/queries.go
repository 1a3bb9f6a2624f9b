package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/cmd/freshet/plan"
	"freshet/crawl"
	"freshet/dashboard"
	"freshet/queries"
)

// queryBytes is the largest size of a crawl's log of queries.
const queryBytes = 256 << 20

// queriesIn returns the log of queries of a crawl.
func queriesIn(data, crawl string, age time.Duration, logger *slog.Logger) *queries.Log {
	return queries.New(vfs.Default, filepath.Join(data, "queries"), crawl, queries.Limits{Age: age, Bytes: queryBytes}, logger)
}

// asked records searches and clicks for the API.
type asked struct {
	log *queries.Log
	now func() time.Time
}

// Asked implements dashboard.QueryLog.
func (a asked) Asked(s dashboard.Search, shown []dashboard.Hit) (query string) {
	all := make([]queries.Shown, len(shown))
	for i, hit := range shown {
		place := s.From + i
		all[i] = queries.Shown{URL: hit.URL, Page: place/s.Limit + 1, Position: place%s.Limit + 1, Version: hit.Version}
	}
	return a.log.Asked(a.now(), s.Words, all)
}

// Clicked implements dashboard.QueryLog.
func (a asked) Clicked(query, url string) bool { return a.log.Clicked(a.now(), query, url) }

// noted returns the recorder of searches and clicks, or nil if they are not recorded.
func (p *publisher) noted() dashboard.QueryLog {
	if !p.settings.queries {
		return nil
	}
	return asked{p.queries, p.clock.Now}
}

// sweepQueries regularly deletes old files of the log until the publisher's end, even if nothing is added.
func (p *publisher) sweepQueries() {
	p.running.Go(func() {
		for every := max(time.Hour, p.clock.Span(time.Minute)); ; {
			if err := p.queries.Sweep(p.clock.Now()); err != nil {
				p.logger.Warn("cannot delete old files of the log of queries", "error", err)
			}
			if p.clock.Sleep(p.ctx, every) != nil {
				return
			}
		}
	})
}

// weights returns the weights of pages from the log of queries up to now.
func (p *publisher) weights(ctx context.Context, now time.Time, pages int64) (crawl.Reweighed, error) {
	learned, err := learnClicks(ctx, p.queries, now, pages, p.logger)
	if err != nil {
		return crawl.Reweighed{}, err
	}
	if learned.Embarrassment == 0 {
		p.unasked.Do(func() {
			p.logger.Warn("--weights clicks: no search is logged yet: all pages weigh the same until there is one")
		})
	}
	return crawl.Reweighed{Weight: learned.Of, Embarrassment: learned.Embarrassment}, nil
}

// learnClicks returns the weights from a log of queries. In a file with a fault, only the rows before the fault
// count.
func learnClicks(ctx context.Context, log *queries.Log, now time.Time, pages int64, logger *slog.Logger) (*plan.Clicks, error) {
	files, err := log.Files()
	if err != nil {
		return nil, err
	}
	var clicks plan.ClickLog
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := readQueryFile(&clicks, f); err != nil {
			logger.Warn("some queries of a day do not count", "error", err)
		}
	}
	return clicks.Learned(now, pages), nil
}

// readQueryFile reads a file up to its length when it was listed.
func readQueryFile(clicks *plan.ClickLog, f queries.File) error {
	in, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	return clicks.Read(f.Path, io.LimitReader(in, f.Bytes))
}
