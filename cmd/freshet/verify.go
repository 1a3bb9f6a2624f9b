package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/dashboard/units"
	"freshet/importer"
	"freshet/node/cluster"
	"freshet/store"
	"freshet/store/repair"
	"freshet/store/segments"
)

func verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify", Short: "Check everything that is stored, and repair it", Args: command.NoArgs,
		Long: "Reads every WARC file, also in an object store, and every version completely, and checks that rows, queues, counts and\n" +
			"records agree. It prints one line per problem, and the exit code is 1 if there is one. With --repair it first repairs\n" +
			"what it can, and prints one line for everything it did. What can no longer be used is moved to the folder aside/ of the\n" +
			"data directory.",
		Example: "  freshet verify --data archive\n  freshet verify --data archive --repair",
	}
	data, name := directoryFlags(cmd)
	asJSON := cmd.Flags().Bool("json", false, "print each problem and repair as JSON, one object per line, and then how many there were")
	mends := cmd.Flags().Bool("repair", false, "repair what can be repaired, and move the rest aside")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		progress := startWorking(cmd.ErrOrStderr(), clock.Real(), "checking "+*data)
		defer progress.stop()
		account := account{cmd, *asJSON}
		tell := func(p store.Problem, repaired bool) {
			if !*asJSON {
				progress.println(cmd.OutOrStdout(), map[bool]string{true: "repair: "}[repaired]+p.String())
				return
			}
			// It can be encoded. If the pipe is closed, the last output returns the error.
			_ = account.give(progress.progress, "", found{p.Place, p.Text, repaired}, "")
		}
		problems, repairs := 0, 0
		if *mends {
			progress.say("repairing %s", *data)
			if err := repairCrawl(cmd.Context(), *data, *name, progress, func(p store.Problem) {
				repairs++
				tell(p, true)
			}); err != nil {
				return err
			}
			progress.say("checking %s", *data)
		}
		if err := checkDirectory(*data); err != nil {
			return err
		}
		options, err := withSegments(*data, store.Options{Crawl: *name})
		if err != nil {
			return err
		}
		files := progress.files("checking", *data, options.Segments)
		options.FS = files
		s, err := openToRepair(cmd.Context(), *data, options)
		if err != nil {
			return err
		}
		if err := files.expect(s); err != nil {
			return errors.Join(err, s.Close())
		}
		err = repair.Verify(cmd.Context(), s, func(p store.Problem) {
			problems++
			tell(p, false)
		})
		if err = errors.Join(err, s.Close()); err != nil {
			return err
		}
		if err := cluster.CheckDirectory(vfs.Default, *data); err != nil {
			problems++
			tell(store.Problem{Place: "cluster.json", Text: err.Error()}, false)
		}
		if *asJSON || problems == 0 {
			fact := struct {
				Problems int `json:"problems"`
				Repairs  int `json:"repairs"`
			}{problems, repairs}
			if err := account.give(progress.progress, "", fact, "no problems"); err != nil {
				return err
			}
		}
		if problems > 0 {
			return errors.New(units.Plural(int64(problems), "problem"))
		}
		return nil
	}
	return cmd
}

// found is a problem, repaired or not.
type found struct {
	Place    string `json:"place"`
	Text     string `json:"text"`
	Repaired bool   `json:"repaired"`
}

// checkedFiles is a file system that shows how much of a directory's WARC files is read: from start to end, or each
// capture by its place. It counts a file in an object store as read when it is opened.
type checkedFiles struct {
	vfs.FS
	progress *working
	doing    string // what is done with them
	data     string
	segments *segments.Segments // nil: no file is moved
	most     int64              // captures, about; 0: not known

	mu       sync.Mutex
	whole    bool  // files are read from start to end
	captures int64 // opened since then
}

// files returns the file system for work in a directory.
func (w *working) files(doing, data string, moved *segments.Segments) *checkedFiles {
	return &checkedFiles{FS: vfs.Default, progress: w, doing: doing, data: data, segments: moved}
}

// expect sets how many captures are read.
func (f *checkedFiles) expect(s *store.Store) error {
	total, err := s.Total()
	f.most = total.Visits + total.Versions - total.Pruned
	return err
}

// Open implements vfs.FS.
func (f *checkedFiles) Open(name string, how ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, how...)
	there := err == nil
	var moved segments.Segment
	if f.segments != nil && errors.Is(err, fs.ErrNotExist) {
		moved, there = f.segments.Moved(filepath.Base(name))
	}
	if !there || filepath.Base(filepath.Dir(name)) != "warc" {
		return file, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(how, vfs.SequentialReadsOption) {
		f.capture()
		return file, err
	}
	f.file()
	f.progress.read.Add(moved.Bytes)
	if err != nil {
		return file, err
	}
	return checkedFile{file, f.progress.counted(file)}, nil
}

// file shows that files are read, the first time or again.
func (f *checkedFiles) file() {
	if f.whole && f.progress.read.Load() < f.progress.toRead.Load() {
		return
	}
	f.whole, f.captures = true, 0
	all := store.SizeOf(f.FS, filepath.Join(f.data, "warc"))
	if f.segments != nil {
		all += f.segments.Status().MovedBytes
	}
	f.progress.say("%s the files of %s", f.doing, f.data)
	f.progress.toRead.Store(all)
}

// capture shows that one more capture is read.
func (f *checkedFiles) capture() {
	f.whole = false
	f.captures++
	about := ""
	if f.most > 0 {
		about = " of about " + units.Count(max(f.captures, f.most))
	}
	f.progress.say("%s the captures of %s: %s%s", f.doing, f.data, units.Count(f.captures), about)
}

// Unwrap implements vfs.FS.
func (f *checkedFiles) Unwrap() vfs.FS { return f.FS }

// checkedFile counts the bytes read.
type checkedFile struct {
	vfs.File
	counted io.Reader // of the file
}

// Read implements vfs.File.
func (f checkedFile) Read(p []byte) (int, error) { return f.counted.Read(p) }

// openToRepair opens a directory for writing. Like the start of a crawl, this first cuts the torn ends that a crash
// left.
func openToRepair(ctx context.Context, data string, o store.Options) (*store.Store, error) {
	return atRest(ctx, data, "freshet restore --data OTHER COPY, then freshet verify --data OTHER", func() (*store.Store, error) {
		return openStore(data, o)
	})
}

// repairCrawl repairs a crawl, shows how far it is, and reports what it did.
func repairCrawl(ctx context.Context, data, name string, progress *working, say func(store.Problem)) error {
	if !isDirectory(data) {
		return checkDirectory(data)
	}
	options := store.Options{Crawl: name, OnPurge: queriesIn(data, name, 0, slog.New(slog.DiscardHandler)).Forget}
	options, err := withSegments(data, options)
	if err != nil {
		return err
	}
	options.FS = progress.files("repairing", data, options.Segments)
	_, err = patiently(ctx, data, func() (struct{}, error) {
		return struct{}{}, importer.Repair(ctx, data, options, say)
	})
	return err
}

// isDirectory reports whether there is a data directory at a path, or one that has lost freshet.json.
func isDirectory(data string) bool {
	for _, name := range []string{"db", "warc"} {
		if info, err := os.Stat(filepath.Join(data, name)); err == nil && info.IsDir() {
			return true
		}
	}
	return store.Exists(vfs.Default, data)
}
