package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/consent"
	"freshet/dashboard/units"
	"freshet/objects"
	"freshet/store"
	"freshet/store/retain"
	"freshet/store/transfer"
	"freshet/store/warc"
	"freshet/weburl"
)

func exportCommand() *cobra.Command {
	var order exportOrder
	cmd := &cobra.Command{
		Use: "export", Short: "Write what is stored in formats of other tools", Args: command.NoArgs,
		Long: "Each flag writes one thing: --warc copies the WARC files, --cdxj writes an index of them, --wacz puts both into one\n" +
			"file, --parquet writes the page table, --cc-index an index of versions with the columns of Common Crawl, --text and\n" +
			"--markdown the texts of live pages, --sitemap a sitemap of live pages, --graph the pages and their links, and\n" +
			"--partition a whole partition that another data directory can import. --warc and --cdxj together index the copies.\n" +
			"\n" +
			"Captures of withdrawn pages are left out, unless --withdrawn is given; a partition has them, and they stay withdrawn.\n" +
			"Texts leave out pages whose site or author disallows one of --uses. The export of texts prints a cursor. With it,\n" +
			"--since writes only what has changed or ended since then, the next time.\n" +
			"\n" +
			"A name such as s3://BUCKET/NAME writes to a bucket, except of a sitemap. While a crawl is running in the directory,\n" +
			"export a snapshot of it.",
		Example: "  freshet export --warc copies/\n  freshet export --cdxj index.cdxj\n  freshet export --parquet pages.parquet\n" +
			"  freshet export --wacz site.wacz\n  freshet export --text texts.jsonl.zst\n" +
			"  freshet export --sitemap sitemap.xml --site https://example.org\n  freshet export --partition 3 --out part3",
	}
	directory := directoryOf(cmd)
	account := accountOf(cmd)
	order.flags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		uses, err := order.check()
		if err != nil {
			return command.Usage(err)
		}
		s, err := atRest(cmd.Context(), directory.data, "freshet export --data COPY", func() (*store.Store, error) {
			return openStore(directory.data, store.Options{Crawl: directory.crawl, ReadOnly: true})
		})
		if err != nil {
			return err
		}
		defer s.Close()
		files, err := s.Files()
		if err != nil {
			return err
		}
		served, err := servedOf(s, order.withdrawn)
		if err != nil {
			return err
		}
		progress := startWorking(cmd.ErrOrStderr(), clock.Real(), "exporting "+directory.data)
		defer progress.stop()
		e := exporter{exportOrder: order, cmd: cmd, account: account, store: s, files: files, served: served, progress: progress}
		return e.export(uses)
	}
	return cmd
}

// exportOrder is what the flags of export ask for. Names are those of files or folders, and "-" is standard output.
// What has no name is not written.
type exportOrder struct {
	warc, cdxj, wacz, parquet, ccIndex, graph string
	withdrawn                                 bool // captures of withdrawn pages too

	text, markdown string
	since          string // the cursor after which texts have changed; empty: write all
	uses           []string

	sitemap, site, sitemapURL string

	partition int // -1: none
	out       string
}

func (o *exportOrder) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.warc, "warc", "", "folder to copy the WARC files to")
	check(flags, validFolder, "warc")
	flags.StringVar(&o.cdxj, "cdxj", "", "file to write a CDXJ index to, - for standard output")
	flags.BoolVar(&o.withdrawn, "withdrawn", false, "of --warc, --cdxj, --wacz and --cc-index: captures of withdrawn pages too")
	flags.StringVar(&o.wacz, "wacz", "", "WACZ file to write, with the WARC files, their index and a list of the live pages; - for standard output")
	flags.StringVar(&o.graph, "graph", "", "file for the graph of pages and links; - for standard output")
	flags.StringVar(&o.parquet, "parquet", "", "file to write the page table to, - for standard output")
	flags.StringVar(&o.ccIndex, "cc-index", "", "file to write an index of the stored versions to, as Parquet with Common Crawl's columns; - for standard output")
	flags.StringVar(&o.text, "text", "", "file to write the texts of the live pages to, one JSON object per line, compressed if the name ends in .zst; Parquet if it ends in .parquet; - for standard output")
	flags.StringVar(&o.markdown, "markdown", "", "file to write the texts of the live pages to, as Markdown, in the forms of --text")
	flags.StringVar(&o.since, "since", "", "of --text and --markdown: the cursor that the export before printed; only what has changed since")
	flags.StringSliceVar(&o.uses, "uses", []string{"search", "ai-input", "ai-train"}, "of --text and --markdown: what they are for; pages that disallow one of these uses are left out; empty: none are")
	flags.StringVar(&o.sitemap, "sitemap", "", "sitemap of the live pages to write: a file FILE.xml, or a folder")
	check(flags, onDisk, "sitemap")
	flags.StringVar(&o.site, "site", "", "of the sitemap: only pages of this site, such as https://example.org")
	flags.StringVar(&o.sitemapURL, "sitemap-url", "", "URL of the folder where the sitemaps will be; needed for more than 50,000 pages")
	flags.IntVar(&o.partition, "partition", -1, "partition to write to --out")
	flags.Lookup("partition").DefValue = "0" // which help does not show: the default is to export none
	flags.StringVar(&o.out, "out", "-", "file to write the partition to, - for standard output")
}

// check returns the uses that the texts are for. It returns an error if the order is empty or has a wrong use.
func (o *exportOrder) check() ([]consent.Use, error) {
	if o.warc+o.cdxj+o.wacz+o.parquet+o.ccIndex+o.sitemap+o.graph+o.text+o.markdown == "" && o.partition < 0 {
		return nil, errors.New("nothing to export: add --warc, --cdxj, --wacz, --parquet, --cc-index, --text, --markdown, --sitemap, --graph or --partition")
	}
	uses, err := usesOf(o.uses)
	if err != nil {
		return nil, fmt.Errorf("--uses: %w", err)
	}
	return uses, nil
}

// An exporter carries out an order.
type exporter struct {
	exportOrder
	cmd      *cobra.Command
	account  *account
	store    *store.Store
	files    []string // the stored WARC files
	served   func(target string) (bool, error)
	progress *working
}

func (e *exporter) export(uses []consent.Use) error {
	indexed, err := e.copyWARC()
	if err != nil {
		return err
	}
	for _, file := range []struct {
		form, name string
		write      func(io.Writer) error
	}{
		{"cdxj", e.cdxj, func(w io.Writer) error { return writeCDXJ(w, e.store.FS(), indexed, e.served) }},
		{"wacz", e.wacz, func(w io.Writer) error { return writeWACZ(w, e.store, e.files, e.served) }},
		{"parquet", e.parquet, func(w io.Writer) error { return writeParquet(w, newReader(e.store)) }},
		{"cc-index", e.ccIndex, func(w io.Writer) error { return writeCCIndex(w, e.store, e.served) }},
		{"graph", e.graph, func(w io.Writer) error { return writeGraph(w, e.store) }},
	} {
		if file.name == "" {
			continue
		}
		if err := e.write(file.form, file.name, file.write); err != nil {
			return err
		}
		if err := e.wrote(file.form, file.name); err != nil {
			return err
		}
	}
	if err := e.writeTexts(uses); err != nil {
		return err
	}
	if e.sitemap != "" {
		e.progress.say("writing %s", e.sitemap)
		if err := writeSitemaps(e.store, e.sitemap, e.site, e.sitemapURL); err != nil {
			return err
		}
		if err := e.wrote("sitemap", e.sitemap); err != nil {
			return err
		}
	}
	return e.writePartition()
}

// write writes a file, an object or standard output.
func (e *exporter) write(form, name string, write func(io.Writer) error) error {
	e.progress.say("writing %s to %s", form, name)
	return writeTo(e.cmd.Context(), name, e.cmd.OutOrStdout(), func(w io.Writer) error { return write(e.progress.counting(w)) })
}

// wrote reports a file that was written. Standard output needs no report.
func (e *exporter) wrote(form, name string) error {
	if name == "-" {
		return nil
	}
	fact := exported{Form: form, Path: name, Size: sizeIfHere(name)}
	return e.account.give(e.progress.progress, name, fact, name+sizeBehind(fact.Size))
}

// copyWARC copies the WARC files if that is wanted. It returns the files to index: the copies, or without copies on
// this machine the stored files.
func (e *exporter) copyWARC() ([]string, error) {
	if e.warc == "" {
		return e.files, nil
	}
	e.progress.say("copying %s to %s", units.Plural(int64(len(e.files)), "WARC file"), e.warc)
	copies, err := copyFilesTo(e.cmd.Context(), e.store.FS(), e.files, e.warc, e.served)
	if err != nil {
		return nil, err
	}
	fact := exported{Form: "warc", Path: e.warc, Size: sizeIfHere(copies...), Files: len(copies)}
	words := fmt.Sprintf("%s in %s", units.Plural(int64(len(copies)), "WARC file"), e.warc+sizeBehind(fact.Size))
	return copies, e.account.give(e.progress.progress, "", fact, words)
}

// writeTexts writes the texts of live pages, and prints the cursor for the next time.
func (e *exporter) writeTexts(uses []consent.Use) error {
	texts := newTextExport(e.store, e.since, uses)
	defer texts.close()
	for _, file := range []struct {
		form, name string
		markdown   bool
	}{{"text", e.text, false}, {"markdown", e.markdown, true}} {
		if file.name == "" {
			continue
		}
		err := e.write(file.form, file.name, func(w io.Writer) error {
			return texts.write(e.cmd.Context(), w, file.name, file.markdown)
		})
		if err != nil {
			return err
		}
		fact := exported{
			Form: file.form, Path: file.name, Size: sizeIfHere(file.name), Pages: &texts.pages,
			Disallowed: &texts.reserved, Textless: &texts.textless, Lost: texts.lost, Cursor: texts.next.String(),
		}
		deleted := ""
		if texts.since != "" {
			fact.Deleted, deleted = &texts.ended, fmt.Sprintf(", %d deleted", texts.ended)
		}
		words := fmt.Sprintf("%s: %s%s; left out: %s with a disallowed use, %s without text", file.name,
			units.Plural(texts.pages, "page"), deleted, units.Plural(texts.reserved, "page"), units.Plural(texts.textless, "page"))
		if err := e.account.give(e.progress.progress, file.name, fact, words); err != nil {
			return err
		}
		if texts.lost > 0 {
			fmt.Fprintf(e.cmd.ErrOrStderr(), "left out: %s that cannot be read; the first is %v; %s\n",
				units.Plural(texts.lost, "page"), texts.first, store.LostRemedy)
		}
		if !e.account.asJSON {
			fmt.Fprintln(command.Beside(e.cmd, file.name), texts.next)
		}
	}
	return nil
}

func (e *exporter) writePartition() error {
	if e.partition < 0 {
		return nil
	}
	if e.partition >= e.store.Partitions() {
		return command.Usage(fmt.Errorf("--partition %d: want 0 to %d", e.partition, e.store.Partitions()-1))
	}
	err := e.write("partition", e.out, func(w io.Writer) error {
		return transfer.ExportPartition(e.store, weburl.Partition(e.partition), w)
	})
	if err != nil {
		return err
	}
	return e.wrote("partition", e.out)
}

// exported is one exported file or folder.
type exported struct {
	Form  string `json:"form"` // the flag that selected it
	Path  string `json:"path"`
	Size  *int64 `json:"size_bytes"` // null: it is in a bucket
	Files int    `json:"files,omitempty"`
	// Of texts: the pages that were written, and those that were left out.
	Pages      *int64 `json:"pages,omitempty"`
	Deleted    *int64 `json:"pages_deleted,omitempty"` // of changes since a cursor
	Disallowed *int64 `json:"pages_disallowed,omitempty"`
	Textless   *int64 `json:"pages_without_text,omitempty"`
	Lost       int64  `json:"pages_lost,omitempty"`
	Cursor     string `json:"cursor,omitempty"`
}

// sizeOf returns the total bytes of files, including those in folders.
func sizeOf(names ...string) (total int64) {
	for _, name := range names {
		// Unreadable files do not count.
		_ = filepath.WalkDir(name, func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				if info, err := entry.Info(); err == nil {
					total += info.Size()
				}
			}
			return nil
		})
	}
	return total
}

// sizeIfHere is sizeOf, but returns nil for objects.
func sizeIfHere(names ...string) *int64 {
	if slices.ContainsFunc(names, objects.IsBucket) {
		return nil
	}
	return new(sizeOf(names...))
}

// writeCDXJ indexes WARC files. It sorts in a temporary folder.
func writeCDXJ(w io.Writer, fsys vfs.FS, files []string, served func(target string) (bool, error)) error {
	temp, remove, err := command.TempFolder("freshet-cdxj-")
	if err != nil {
		return err
	}
	defer remove()
	return warc.Index(w, warc.IndexOptions{FS: fsys, Temp: temp, Keep: served}, files...)
}

// servedOf returns a function that reports whether captures of a target may be exported. Those of withdrawn pages may
// not, unless all is set. What was taken down may never be exported, though its bytes stay until the purge ends.
// servedOf returns nil if all captures may be exported.
func servedOf(s *store.Store, all bool) (func(target string) (bool, error), error) {
	total, err1 := s.Total()
	purging, err2 := retain.Unfinished(s)
	if err := errors.Join(err1, err2); err != nil || !purging && (all || total.States[store.StateWithdrawn] == 0) {
		return nil, err
	}
	return func(target string) (bool, error) {
		u, err := weburl.Parse(target)
		if err != nil {
			return true, nil // not the URL of a page
		}
		site, err := s.Site(u.Site())
		if err != nil && !errors.Is(err, store.ErrNotFound) || site.Purged {
			return false, err
		}
		row, _, err := s.PageOf(u)
		if errors.Is(err, store.ErrNotFound) {
			return true, nil
		}
		return row.State != store.StatePurged && (all || row.State != store.StateWithdrawn), err
	}, nil
}

// copyFilesTo is copyFiles for a folder or a bucket. It returns the files to index: the copies, or for a bucket the
// original files.
func copyFilesTo(ctx context.Context, fsys vfs.FS, files []string, to string, served func(target string) (bool, error)) ([]string, error) {
	if objects.IsBucket(to) {
		return files, uploadFiles(ctx, fsys, files, to, served)
	}
	return copyFiles(fsys, files, to, served)
}

// sizeBehind formats a size for the end of a line. It returns "" for nil.
func sizeBehind(size *int64) string {
	if size == nil {
		return ""
	}
	return ", " + units.Bytes(*size)
}

// copyServed copies the records of a WARC file that served accepts (nil: all). Of a file that a crash left open, it
// copies the whole ones.
func copyServed(w io.Writer, fsys vfs.FS, file string, served func(target string) (bool, error)) error {
	if served == nil && !isOpen(file) {
		return appendFile(w, fsys, file)
	}
	return warc.Copy(w, fsys, file, served)
}

// isOpen reports whether a WARC file was not closed.
func isOpen(file string) bool { return strings.HasSuffix(file, ".open") }

// nameOfCopy returns the name of a WARC file's copy.
func nameOfCopy(file string) string { return strings.TrimSuffix(filepath.Base(file), ".open") }

// copyFiles copies the records of WARC files that served accepts (nil: all) into dir, and returns the paths of the
// copies. If served is nil it skips files that exist in dir with the same size.
func copyFiles(fsys vfs.FS, files []string, dir string, served func(target string) (bool, error)) (copies []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, file := range files {
		target := filepath.Join(dir, nameOfCopy(file))
		copies = append(copies, target)
		from, err := fsys.Stat(file)
		if err != nil {
			return nil, err
		}
		if to, err := os.Stat(target); served == nil && err == nil && to.Size() == from.Size() {
			continue
		}
		if err := command.WriteFile(target, func(w io.Writer) error { return copyServed(w, fsys, file, served) }); err != nil {
			return nil, err
		}
	}
	return copies, nil
}

// appendFile writes a file's bytes.
func appendFile(w io.Writer, fsys vfs.FS, name string) error {
	file, err := fsys.Open(name, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

// validFolder accepts the name of a folder for WARC files, and not that of a WARC file or of standard output.
func validFolder(name string) error {
	if err := objects.Check(name); err != nil {
		return err
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() || name != "-" && !slices.Contains([]string{".gz", ".warc"}, filepath.Ext(name)) {
		return nil
	}
	return fmt.Errorf("%q: want a folder, such as copies: the WARC files keep their names", name)
}
