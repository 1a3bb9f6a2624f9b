package main

import (
	"bufio"
	"bytes"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"

	"freshet/clock"
	"freshet/cmd/freshet/table"
	"freshet/dashboard/units"
	"freshet/importer"
	"freshet/store"
	"freshet/store/transfer"
	"freshet/store/warc"
)

// importCacheBytes is the database's cache during an import of lists, which looks up each page among all stored ones.
// With the usual megabyte an import takes 1.6 times as long.
const importCacheBytes = 64 << 20

func importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "import FILE…", Short: "Take in WARC files, indexes and lists of URLs", Args: someArgs("FILE"),
		Long: "Reads WARC files, CDXJ indexes, lists of URLs, and partitions that freshet export wrote. Freshet finds out by itself\n" +
			"what a file is, also if it is compressed with gzip. From a WARC file, pages get versions and visits. From an index,\n" +
			"they get visits only, and are visited soon. A robots.txt in either is skipped. A list has one URL per line, or it is\n" +
			"CSV or TSV with a header: url, and any of weight, last_seen, digest, status and content_type.\n" +
			"\n" +
			"Visits must come in order of time: a visit that is not later than the page's last one is skipped. Of several WARC\n" +
			"files, the one with the oldest first capture is read first. A partition can be imported only into an empty one.\n" +
			"Run this command while no crawl is running in the directory.",
		Example: "  freshet import --data archive old.warc.gz\n  freshet import --data archive urls.csv\n  freshet import --data second part3",
	}
	data, name := directoryFlags(cmd)
	check(cmd.Flags(), onDisk, "data")
	account := accountOf(cmd)
	partitions := cmd.Flags().Int("partitions", 16, "partitions of the data directory, if it is new")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, file := range args { // before a directory is made
			switch info, err := os.Stat(file); {
			case file == "-":
			case err != nil:
				return err
			case info.IsDir():
				return fmt.Errorf("%q is a folder: want the files in it, such as %s/*.warc.gz", file, strings.TrimSuffix(file, "/"))
			}
		}
		s, err := patiently(cmd.Context(), *data, func() (*store.Store, error) {
			return openAlone(*data, store.Options{Crawl: *name, Partitions: *partitions, CacheBytes: importCacheBytes})
		})
		if err != nil {
			return err
		}
		progress := startWorking(cmd.ErrOrStderr(), clock.Real(), "reading "+args[0])
		defer progress.stop()
		i := importing{importer.New(s), s, progress, account}
		known, err := openImportSeen(s, *data, *name)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		done := s.Close
		if known != nil {
			i.Known = known.add
			done = func() error { return errors.Join(known.close(), s.Close()) }
		}
		var faults []error
		files := inOrderOfTime(args)
		for _, file := range files {
			if err := i.file(file, cmd.InOrStdin()); err != nil {
				faults = append(faults, err)
				if !errors.Is(err, warc.ErrCorrupt) {
					return errors.Join(append(faults, i.Flush(), done())...)
				}
			}
		}
		for _, file := range files {
			faults = append(faults, i.rest(file))
		}
		return errors.Join(append(faults, done())...)
	}
	return cmd
}

// inOrderOfTime returns the files with WARC files in the order of their first captures. Names do not give this order:
// a file that was rewritten for a purge has a later name than its captures.
func inOrderOfTime(files []string) []string {
	ordered := slices.Clone(files)
	var places []int
	var captures []string
	first := map[string]time.Time{}
	for i, file := range files {
		if at, ok := firstCapture(file); ok {
			places, captures = append(places, i), append(captures, file)
			first[file] = at
		}
	}
	slices.SortStableFunc(captures, func(a, b string) int { return first[a].Compare(first[b]) })
	for i, place := range places {
		ordered[place] = captures[i]
	}
	return ordered
}

// firstCapture returns the time of the first response in a WARC file. ok is false if there is none, or for another
// kind of file.
func firstCapture(file string) (at time.Time, ok bool) {
	r, err := warc.Open(vfs.Default, file)
	if err != nil {
		return at, false
	}
	defer r.Close()
	for {
		record, err := r.Next()
		if err != nil {
			return at, false
		}
		if record.Type == warc.Response || record.Type == warc.Revisit {
			return record.Date, true
		}
	}
}

// someArgs returns a check for at least one argument. name is what the error calls it.
func someArgs(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("want one %s or more (see %s --help)", name, cmd.CommandPath())
		}
		return nil
	}
}

// importing is one run of the command.
type importing struct {
	*importer.Importer
	store    *store.Store
	progress *working
	account  *account
}

// imported is the result for a file: a partition, or visits and pages.
type imported struct {
	File      string         `json:"file"`
	Partition *int           `json:"partition,omitempty"`
	Visits    int            `json:"visits"`
	Queued    int            `json:"pages_queued"`
	Skipped   map[string]int `json:"skipped"` // by reason
	Missing   []string       `json:"missing,omitempty"`
}

// file imports a file of any form, or in for "-". Of a damaged WARC file it imports what comes before the damage; the
// error then matches warc.ErrCorrupt.
func (i importing) file(name string, in io.Reader) error {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	} else {
		name = standardInput
	}
	i.progress.say("reading %s", name)
	source := bufio.NewReaderSize(i.progress.counted(in), 1<<20)
	if start, _ := source.Peek(18); bytes.HasPrefix(start, []byte("freshet partition ")) {
		p, err := transfer.ImportPartition(i.store, source)
		if err != nil {
			return err
		}
		return i.account.give(i.progress.progress, "", imported{File: name, Partition: new(int(p)), Skipped: map[string]int{}}, fmt.Sprintf("partition %d imported", p))
	}
	fault := i.visits(name, source)
	if err := i.Flush(); err != nil || fault != nil && !errors.Is(fault, warc.ErrCorrupt) {
		return errors.Join(fault, err)
	}
	if err := i.tell(name); err != nil {
		return err
	}
	if fault != nil {
		return fmt.Errorf("%s is damaged: what comes before the damage is imported: %w", name, fault)
	}
	return nil
}

// rest imports what waited in a file for the others.
func (i importing) rest(name string) error {
	if name == "-" {
		name = standardInput
	}
	if waited, err := i.Late(name); err != nil || !waited {
		return err
	}
	return i.tell(name)
}

// tell gives an account of what was imported since the last one.
func (i importing) tell(name string) error {
	words := fmt.Sprintf("%s: %s imported, %s queued", name, units.Plural(int64(i.Visits), "visit"), units.Plural(int64(i.Pages), "page"))
	for _, reason := range slices.Sorted(maps.Keys(i.Skipped)) {
		words += fmt.Sprintf("\n%s: %d skipped: %s", name, i.Skipped[reason], reason)
	}
	if len(i.Missing) > 0 {
		words += fmt.Sprintf("\n%s: import it with the files that have the captures of %s", name, strings.Join(i.Missing, ", "))
	}
	if err := i.account.give(i.progress.progress, "", imported{name, nil, i.Visits, i.Pages, i.Skipped, i.Missing}, words); err != nil {
		return err
	}
	i.Visits, i.Pages, i.Missing = 0, 0, nil
	clear(i.Skipped)
	return nil
}

const standardInput = "standard input"

// unzipped returns the content of a file, which may be compressed with gzip.
func unzipped(source *bufio.Reader) (*bufio.Reader, error) {
	if magic, _ := source.Peek(2); string(magic) != "\x1f\x8b" {
		return source, nil
	}
	content, err := gzip.NewReader(source)
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(content, 1<<20), nil
}

// visits imports a WARC file, an index or a list.
func (i importing) visits(name string, source *bufio.Reader) error {
	peeked, _ := source.Peek(1 << 16)
	if len(peeked) == 0 {
		return fmt.Errorf("%s is empty: there is nothing to import", name)
	}
	if why := withoutCaptures(peeked); why != "" {
		return fmt.Errorf("%s %s", name, why)
	}
	if inside, err := gzip.NewReader(bytes.NewReader(peeked)); err == nil {
		start := make([]byte, 5)
		if n, _ := io.ReadFull(inside, start); string(start[:n]) == "WARC/" {
			return i.WARC(source, name)
		}
	}
	text, err := unzipped(source)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if start, _ := text.Peek(5); string(start) == "WARC/" {
		return i.WARC(text, name)
	}
	table.SkipMark(text)
	start, _ := text.Peek(64 << 10)
	first, _, _ := strings.Cut(string(start), "\n")
	switch {
	case strings.HasSuffix(strings.TrimSpace(first), "}") || strings.HasPrefix(first, "!"):
		return i.lines(name, text, i.index)
	case strings.Contains(first, "://") || strings.HasPrefix(first, "#"):
		return i.lines(name, text, i.url)
	}
	if columns := strings.FieldsFunc(first, func(r rune) bool { return strings.ContainsRune(",\t\"\r ", r) }); !slices.Contains(columns, "url") {
		return fmt.Errorf("%s is not a WARC file, an index, a partition or a list of URLs, or it is damaged: see freshet import --help", name)
	}
	return i.table(name, text, strings.Contains(first, "\t"))
}

// withoutCaptures says why a file that freshet export writes cannot be imported, by its start; "" for other files.
func withoutCaptures(start []byte) string {
	const remedy = "import WARC files instead: freshet export --warc writes them"
	for magic, why := range map[string]string{
		"PAR1":             "is a Parquet file, which has no captures: " + remedy,
		`{"`:               "is JSON lines, such as an export of texts, which have no captures: " + remedy,
		"\x28\xb5\x2f\xfd": "is compressed with zstd: decompress it, or if it is an export of texts, " + remedy,
		"PK\x03\x04":       "is a zip file: if it is a WACZ file, unpack it with unzip -d OTHER, and import OTHER/archive/*.warc.gz",
	} {
		if bytes.HasPrefix(start, []byte(magic)) {
			return why
		}
	}
	return ""
}

// lines imports the lines of a file. It skips empty lines and comments, which begin with #.
func (i importing) lines(name string, text io.Reader, take func(line string) error) error {
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, table.MaxRow)
	n := 0
	for lines.Scan() && lines.Err() == nil { // with an error, what is left is a part of a line
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if err := take(line); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", name, n+1, err)
	}
	return nil
}

func (i importing) url(line string) error {
	u, err := parseURL(line)
	if err != nil {
		return err
	}
	return i.Sight(importer.Sighting{URL: u})
}

// index imports a line of a CDXJ index: key, time, object.
func (i importing) index(line string) error {
	if line[0] == '!' {
		return nil // a header of the index
	}
	parts := strings.SplitN(line, " ", 3)
	if len(parts) != 3 {
		return fmt.Errorf("index line %.100q: want a key, a time and an object", line)
	}
	at, err := time.Parse("20060102150405", parts[1])
	if err != nil {
		return fmt.Errorf("time %.100q: want 14 digits", parts[1])
	}
	var entry struct {
		URL    string `json:"url"`
		MIME   string `json:"mime"`
		Status any    `json:"status"` // a text, or a number
		Digest string `json:"digest"`
	}
	if err := json.Unmarshal([]byte(parts[2]), &entry); err != nil {
		return fmt.Errorf("object: %w", err)
	}
	u, err := parseURL(entry.URL)
	if err != nil {
		i.Skipped["no http or https URL"]++
		return nil
	}
	if importer.Apart(u) {
		i.Skipped[importer.NoPage]++
		return nil
	}
	status, err := strconv.Atoi(fmt.Sprint(entry.Status))
	if entry.MIME == "warc/revisit" || err != nil {
		status = 200 // of a page that is as it was
	}
	digest, err := parseDigest(entry.Digest)
	if err != nil {
		return err
	}
	return i.Sight(importer.Sighting{URL: u, At: at, Status: status, ContentType: entry.MIME, Digest: digest})
}

// parseDigest reads a SHA-1 in base 32 or hexadecimal, with or without "sha1:". For other kinds of digests it returns
// zero.
func parseDigest(text string) (digest store.BodyDigest, err error) {
	bare := strings.TrimPrefix(text, "sha1:")
	decoded, err := base32.StdEncoding.DecodeString(strings.ToUpper(bare))
	if len(bare) == 2*len(digest) {
		decoded, err = hex.DecodeString(bare)
	}
	switch {
	case bare == "" || bare == "-" || strings.Contains(bare, ":"):
		return digest, nil
	case err != nil || len(decoded) != len(digest):
		return digest, fmt.Errorf("digest %.100q: want a SHA-1 in base 32 or hexadecimal", text)
	}
	return store.BodyDigest(decoded), nil
}

// table imports a CSV or TSV file with a header.
func (i importing) table(name string, text io.Reader, tabs bool) error {
	comma := ','
	if tabs {
		comma = '\t'
	}
	t, err := table.Read(name, text, comma, []string{"url", "weight", "last_seen", "digest", "status", "content_type"}, "url")
	if err != nil {
		return err
	}
	for {
		more, err := t.Next()
		if err != nil || !more {
			return err
		}
		if err := i.row(t); err != nil {
			return err
		}
	}
}

// row imports a row of a table.
func (i importing) row(t *table.Table) (err error) {
	s := importer.Sighting{ContentType: t.Text("content_type")}
	if s.URL, err = parseURL(t.Text("url")); err != nil {
		return t.Fault("url", "%v", err)
	}
	if s.Weight, err = t.Number("weight", 0, 0, math.MaxFloat64); err != nil {
		return err
	}
	if s.Status, err = t.Whole("status", 200, 100, 999); err != nil {
		return err
	}
	if s.Digest, err = parseDigest(t.Text("digest")); err != nil {
		return t.Fault("digest", "%v", err)
	}
	if text := t.Text("last_seen"); text != "" {
		if s.At, err = time.Parse(time.RFC3339, text); err != nil {
			return t.Fault("last_seen", "last_seen %q: want a time such as 2026-01-31T12:00:00Z", text)
		}
	}
	return i.Sight(s)
}
