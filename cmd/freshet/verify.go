package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/dashboard/units"
	"freshet/importer"
	"freshet/node/cluster"
	"freshet/store"
	"freshet/store/repair"
)

func verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify", Short: "Check everything that is stored, and repair it", Args: command.NoArgs,
		Long: "Reads every WARC file and every version completely, and checks that rows, queues, counts and records agree. It\n" +
			"prints one line per problem, and the exit code is 1 if there is one. With --repair it first repairs what it can, and\n" +
			"prints one line for everything it did. What can no longer be used is moved to the folder aside/ of the data directory.",
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
			if err := repairCrawl(cmd.Context(), *data, *name, func(p store.Problem) {
				repairs++
				tell(p, true)
			}); err != nil {
				return err
			}
		}
		files := &checkedFiles{FS: vfs.Default, progress: progress, data: *data}
		s, err := openToRepair(cmd.Context(), *data, store.Options{Crawl: *name, FS: files})
		if err != nil {
			return err
		}
		if err := files.begin(s); err != nil {
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

// checkedFiles is a file system that shows how much of a directory's WARC files is checked. They are first read from
// start to end, and then each capture by its place.
type checkedFiles struct {
	vfs.FS
	progress       *working
	data           string
	captures, most atomic.Int64 // captures opened, of about how many
}

// begin begins the check of a store whose file system this is.
func (f *checkedFiles) begin(s *store.Store) error {
	total, err := s.Total()
	if err != nil {
		return err
	}
	f.most.Store(total.Visits + total.Versions - total.Pruned)
	f.progress.say("checking the files of %s", f.data)
	f.progress.toRead.Store(store.SizeOf(f.FS, filepath.Join(f.data, "warc")))
	return nil
}

// Open implements vfs.FS.
func (f *checkedFiles) Open(name string, how ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, how...)
	switch {
	case err != nil || filepath.Base(filepath.Dir(name)) != "warc":
	case slices.Contains(how, vfs.OpenOption(vfs.SequentialReadsOption)):
		return checkedFile{file, f.progress.counted(file)}, nil
	case f.most.Load() > 0:
		n := f.captures.Add(1)
		f.progress.say("checking the captures of %s: %s of about %s", f.data, units.Count(n), units.Count(max(n, f.most.Load())))
	}
	return file, err
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

// repairCrawl repairs a crawl and reports what it did.
func repairCrawl(ctx context.Context, data, name string, say func(store.Problem)) error {
	if !isDirectory(data) {
		return checkDirectory(data)
	}
	options := store.Options{Crawl: name, OnPurge: queriesIn(data, name, 0, slog.New(slog.DiscardHandler)).Forget}
	options, err := withSegments(data, options)
	if err != nil {
		return err
	}
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
