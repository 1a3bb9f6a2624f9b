package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

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
		s, err := openToRepair(cmd.Context(), *data, *name)
		if err != nil {
			return err
		}
		progress.say("checking %s", *data)
		err = repair.Verify(cmd.Context(), s, func(p store.Problem) {
			problems++
			progress.say("checking %s: %s", *data, units.Plural(int64(problems), "problem"))
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

// openToRepair opens a directory for writing. Like the start of a crawl, this first cuts the torn ends that a crash
// left.
func openToRepair(ctx context.Context, data, crawl string) (*store.Store, error) {
	return atRest(ctx, data, "freshet restore --data OTHER COPY, then freshet verify --data OTHER", func() (*store.Store, error) {
		return openStore(data, store.Options{Crawl: crawl})
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
