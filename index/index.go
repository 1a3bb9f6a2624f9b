package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"

	"freshet/clock"
	"freshet/feed"
	"freshet/store"
	"freshet/text"
	"freshet/text/stored"
	"freshet/weburl"
)

const (
	format      = "2" // of the documents; another one is rebuilt
	pagesAtOnce = 64  // of a batch
	bytesAtOnce = 4 << 20
	longestText = 256 << 10 // bytes of a page's text to index
	mostMerged  = 100_000   // pages of a segment: while Bleve makes a large one, small ones gather, which slow a search
	gathering   = time.Second
	looking     = 5 * time.Second // between checks that the folder still exists
	unreadable  = time.Minute     // before a capture that could not be read is tried again
)

var (
	markKey   = []byte("freshet-mark")
	formatKey = []byte("freshet-format")
)

// Options configures an Index.
type Options struct {
	Dir    string // of the index; made if absent
	Store  *store.Store
	Bell   *feed.Bell // rung when the log has grown; nil if the index is only searched
	Clock  *clock.Clock
	Logger *slog.Logger

	// Rest is called after Run has worked for a time, with the number of records that it has not read. It returns when
	// the machine has time for more. If nil, Run does not rest.
	Rest func(ctx context.Context, worked time.Duration, queue uint64)
}

// ErrNone matches the error of a directory without an index.
var ErrNone = errors.New("index: there is none")

// errGone means that the folder of an open index was deleted: a purge does that.
var errGone = errors.New("index: its folder is gone")

// An Index is the full-text index of a crawl. Call Run once. Search is safe for concurrent use, also during Run.
type Index struct {
	o Options

	mu    sync.RWMutex // held for reading while bleve is used, for writing to replace it
	bleve bleve.Index
	watch *watch // of bleve; nil: it is only searched

	bounds bounds // of a search

	oldest atomic.Int64 // unix nanoseconds of the first change that is being indexed; 0: none
}

// Open opens the index for Run. It makes a new one if there is none, if it is damaged, or if another version of the
// program made it.
func Open(o Options) (*Index, error) {
	x := &Index{o: o, watch: watchOf(o.Dir), bounds: usual}
	opened, err := bleve.OpenUsing(o.Dir, watched)
	switch {
	case err == nil:
		ours, err := readable(opened)
		if x.bleve = opened; ours {
			return x, nil
		}
		o.Logger.Warn("the index has another format: it is rebuilt")
		if err := errors.Join(err, opened.Close()); err != nil {
			return nil, fmt.Errorf("index: %w", err)
		}
	case none(err):
	default:
		if of := (*fs.PathError)(nil); errors.As(err, &of) {
			return nil, fmt.Errorf("index: %w", err) // its bytes may be sound
		}
		o.Logger.Warn("the index is damaged: it is rebuilt", "error", err)
	}
	if x.bleve, err = empty(o.Dir); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return x, nil
}

// none reports whether an error of Bleve means that there is no index.
func none(err error) bool {
	return errors.Is(err, bleve.ErrorIndexPathDoesNotExist) || errors.Is(err, bleve.ErrorIndexMetaMissing)
}

// readable reports whether an index has the format of this version of the program.
func readable(opened bleve.Index) (bool, error) {
	of, err := opened.GetInternal(formatKey)
	return err == nil && string(of) == format, err
}

// OpenToSearch opens an existing index without changing it. Its error is ErrNone if there is none of this version.
func OpenToSearch(o Options) (*Index, error) {
	opened, err := bleve.OpenUsing(o.Dir, map[string]any{"read_only": true})
	if none(err) {
		return nil, fmt.Errorf("%w in %s", ErrNone, o.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	ours, err := readable(opened)
	if ours {
		return &Index{o: o, bleve: opened, bounds: usual}, nil
	}
	if err == nil {
		err = fmt.Errorf("%w of this version in %s", ErrNone, o.Dir)
	}
	return nil, errors.Join(err, opened.Close())
}

// Close closes the index, which must not be in use.
func (x *Index) Close() error { return x.shut() }

// empty replaces the content of a folder by an empty index and returns it.
func empty(dir string) (bleve.Index, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	fields, err := newMapping()
	if err != nil {
		return nil, err
	}
	config := maps.Clone(watched)
	config["scorchMergePlanOptions"] = map[string]any{"MaxSegmentSize": mostMerged}
	made, err := bleve.NewUsing(dir, fields, scorch.Name, scorch.Name, config)
	if err != nil {
		return nil, err
	}
	if err := made.SetInternal(formatKey, []byte(format)); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	return made, nil
}

// renew replaces this index by an empty one.
func (x *Index) renew() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.shut(); err != nil {
		x.o.Logger.Warn("the old index cannot be closed", "error", err)
	}
	x.watch = watchOf(x.o.Dir)
	made, err := empty(x.o.Dir)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	x.bleve = made
	return nil
}

// gone reports whether the folder of the index was deleted.
func (x *Index) gone() bool {
	_, err := os.Stat(x.o.Dir)
	return errors.Is(err, fs.ErrNotExist)
}

// entry is the document of a page. Bleve adds the words of a field to those before it of the same name: the long text
// comes before the title.
type entry struct {
	Text     string    `json:"text"`
	Title    string    `json:"title"`
	Site     string    `json:"site"`
	Language string    `json:"language"`
	Changed  time.Time `json:"changed"`
}

// inWords names the analyzer that parts a text into words, as Unicode does, in lower case; none is left out.
const inWords = "words"

// newMapping returns the fields and their analysis. The field of the text also has the words of the title, but not
// where they stand: so pages with all words of a query have them all in one field, and Bleve joins the sets of pages of
// the words before it reads a page.
func newMapping() (mapping.IndexMapping, error) {
	words, whole, when := bleve.NewTextFieldMapping(), bleve.NewTextFieldMapping(), bleve.NewDateTimeFieldMapping()
	words.Analyzer, words.IncludeInAll = inWords, false
	whole.Analyzer, whole.IncludeInAll, whole.IncludeTermVectors = keyword.Name, false, false
	when.IncludeInAll = false
	words.DocValues, whole.DocValues, when.DocValues = false, false, false // no search sorts or counts by a field
	titled := *words
	titled.Name, titled.Store, titled.IncludeTermVectors = "text", false, false
	page := bleve.NewDocumentStaticMapping()
	page.AddFieldMappingsAt("title", words, &titled)
	page.AddFieldMappingsAt("text", words)
	page.AddFieldMappingsAt("site", whole)
	page.AddFieldMappingsAt("language", whole)
	page.AddFieldMappingsAt("changed", when)
	all := bleve.NewIndexMapping()
	all.DefaultMapping = page
	return all, all.AddCustomAnalyzer(inWords, map[string]any{
		"type": custom.Name, "tokenizer": unicode.Name, "token_filters": []string{lowercase.Name},
	})
}

// Run keeps the index up to date until ctx ends. A page that makes it panic is left out. Its error is that of the
// folder or the store, or another panic: with its stack, or one of Bleve's own goroutines.
func (x *Index) Run(ctx context.Context) error { return x.keep(ctx, true) }

// CatchUp brings the index up to date, unless ctx ends first. Call it after Run, when the crawl has ended.
func (x *Index) CatchUp(ctx context.Context) error { return x.keep(ctx, false) }

func (x *Index) keep(ctx context.Context, on bool) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = crash(cause)
		}
	}()
	texts := stored.NewReader(x.o.Store, text.Limits{})
	defer texts.Close()
	for {
		err := x.follow(ctx, texts, on)
		switch {
		case ctx.Err() != nil:
			return nil
		case x.gone():
			x.o.Logger.Info("the index was deleted: it is rebuilt")
		case errors.Is(err, feed.ErrBehind), errors.Is(err, feed.ErrCursor):
			x.o.Logger.Warn("the index is too old for the change log: it is rebuilt", "error", err)
		case errors.Is(err, stored.ErrNotNow), errors.Is(err, feed.ErrNotYet):
			x.o.Logger.Warn("the index waits, and has the versions before meanwhile", "error", err)
			if !on || x.o.Clock.Sleep(ctx, unreadable) != nil {
				return nil
			}
			continue
		default:
			return err
		}
		if err := x.renew(); err != nil {
			return err
		}
	}
}

// follow reads the log from the mark on. If on is set it waits for more.
func (x *Index) follow(ctx context.Context, texts reader, on bool) error {
	mark, err := x.bleve.GetInternal(markKey)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	since := string(mark)
	if since == "" {
		since = feed.Start
	}
	log, err := feed.NewReader(x.o.Store, since, "")
	if err != nil {
		return err
	}
	look := x.o.Clock.NewTimer(looking)
	defer look.Stop()
	for {
		news := x.o.Bell.Wait()
		if x.gone() {
			return errGone
		}
		entries, err := log.Next(pagesAtOnce)
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			x.oldest.Store(entries[0].At)
			began := x.o.Clock.Now()
			if err := x.take(ctx, texts, entries, log.Place()); err != nil {
				return err
			}
			if on && x.o.Rest != nil {
				queue, err := log.Behind()
				if err != nil {
					return err
				}
				x.o.Rest(ctx, x.o.Clock.Now().Sub(began), queue)
			}
			continue
		}
		x.oldest.Store(0)
		if !on {
			return nil
		}
		select {
		case <-news:
			if x.o.Clock.Sleep(ctx, gathering) != nil {
				return nil
			}
		case <-look.C:
			x.o.Clock.Reset(look, looking)
		case <-ctx.Done():
			return nil
		}
	}
}

// reader reads the text of a version, as stored.Reader does.
type reader interface {
	Brief(ctx context.Context, u weburl.URL, v *store.Version) (text.Document, error)
}

// take indexes the pages of the entries, and moves the mark in the same batch. If the texts are long it writes
// several batches, and the last one moves the mark.
func (x *Index) take(ctx context.Context, texts reader, entries []feed.Entry, reached feed.Place) error {
	batch := x.bleve.NewBatch()
	lost := map[string]error{} // why pages are left out, by URL
	bytes := 0
	for _, e := range entries {
		id := e.URL.String()
		page, err := x.page(ctx, texts, e)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, stored.ErrNotNow):
			return fmt.Errorf("index: %s: %w", id, err)
		case err != nil:
			if errors.Is(err, errCrash) || store.IsLost(err) && !errors.Is(err, store.ErrNotFound) {
				lost[id] = err
			}
			batch.Delete(id)
		default:
			if err := batch.IndexAdvanced(page); err != nil {
				return fmt.Errorf("index: %s: %w", id, err)
			}
			bytes += int(page.NumPlainTextBytes())
		}
		if bytes > bytesAtOnce {
			if err := x.write(batch); err != nil {
				return err
			}
			batch, bytes = x.bleve.NewBatch(), 0
		}
	}
	batch.SetInternal(markKey, []byte(reached.String()))
	if err := x.write(batch); err != nil {
		return err
	}
	for id, cause := range lost {
		remedy := store.LostRemedy
		if errors.Is(cause, errCrash) {
			remedy = "please report it"
		}
		x.o.Logger.Warn("a page cannot be indexed: "+remedy, "url", id, "error", cause)
	}
	return nil
}

// errUnwanted means that a page must not be in the index.
var errUnwanted = errors.New("index: the page must not be indexed")

// errCrash means that a page made its reader or the index panic.
var errCrash = errors.New("index: crash")

// crash returns the error for a panic. Call it while the panic is handled: it has the stack.
func crash(cause any) error {
	return fmt.Errorf("%w: %.200s\n%s", errCrash, fmt.Sprint(cause), debug.Stack())
}

// page returns the document of a page: its last version.
func (x *Index) page(ctx context.Context, texts reader, e feed.Entry) (_ *document.Document, err error) {
	defer func() {
		if cause := recover(); store.Fatal(cause) != nil {
			panic(cause) // it is not the page's fault
		} else if cause != nil {
			err = crash(cause)
		}
	}()
	row, err := x.o.Store.Page(e.Partition, e.Fingerprint)
	if err != nil {
		return nil, err
	}
	if !wanted(&row) {
		return nil, errUnwanted
	}
	v, err := x.o.Store.Version(e.Partition, e.Fingerprint, row.Versions)
	if err != nil {
		return nil, err
	}
	said, err := texts.Brief(ctx, row.URL, &v)
	if err != nil {
		return nil, err
	}
	return x.document(e.URL.String(), entry{cut(said.Text, longestText), said.Title, string(row.URL.Site()), said.Language, time.Unix(0, row.LastChanged).UTC()})
}

// document returns a page's document with its fields parted into words. Bleve would part them in goroutines of its own,
// where a panic ends the process.
func (x *Index) document(id string, said entry) (*document.Document, error) {
	page := document.NewDocument(id)
	if err := x.bleve.Mapping().MapDocument(page, said); err != nil {
		return nil, err
	}
	for i, field := range page.Fields {
		field.Analyze()
		page.Fields[i] = parted{field}
	}
	return page, nil
}

// parted is a field that has its words.
type parted struct{ document.Field }

// Analyze implements document.Field.
func (parted) Analyze() {}

// wanted reports whether a page may be found.
func wanted(row *store.Page) bool {
	return row.State == store.StateLive && row.Versions > 0 && !row.NoIndex
}

// cut bounds a text, in bytes.
func cut(said string, most int) string {
	if len(said) > most {
		said = strings.ToValidUTF8(said[:most], "")
	}
	return said
}
