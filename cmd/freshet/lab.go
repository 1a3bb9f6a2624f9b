package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"freshet/cmd/freshet/command"
	"freshet/internal/sites/recorded"
	"freshet/lab"
	"freshet/lab/broder"
	"freshet/lab/castillo"
	"freshet/lab/freshness"
	"freshet/lab/gate"
	"freshet/lab/lam"
	"freshet/lab/liunain"
	"freshet/lab/queue"
	"freshet/lab/replay"
	"freshet/lab/shape"
	"freshet/lab/webs"
	"freshet/lab/wolf"
)

// experiments returns all experiments. Add a new one here, as one line.
func experiments() []lab.Experiment {
	source := webs.Source{Recorded: realWeb, Published: publishedGraph}
	return []lab.Experiment{
		broder.Experiment(source),
		castillo.Experiment(source), castillo.Parallel(source),
		freshness.Experiment(),
		gate.Experiment(),
		lam.Experiment(), lam.Figures(), lam.Facilities(),
		liunain.Experiment(),
		queue.Experiment(),
		replay.Experiment(), replay.HeldOut(), replay.Evidence(),
		shape.Experiment(),
		wolf.Experiment(), wolf.Mixture(),
	}
}

// realWeb returns the file of a recorded web of real sites.
func realWeb(ctx context.Context, name string) (string, error) {
	file, err := recorded.File(ctx, name)
	if errors.Is(err, recorded.ErrAbsent) {
		err = fmt.Errorf("%w: %w: make real-sites fetches them", lab.ErrNoData, err)
	}
	return file, err
}

// publishedGraph returns the path of a published graph: in $FRESHET_GRAPHS, or in freshet/graphs of the user's
// cache directory.
func publishedGraph(file string) (string, error) {
	dir := os.Getenv("FRESHET_GRAPHS")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("%w: %s (FRESHET_GRAPHS says where): %w", lab.ErrNoData, file, err)
		}
		dir = filepath.Join(cache, "freshet", "graphs")
	}
	path := filepath.Join(dir, file)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: no %s in %s: FRESHET_GRAPHS says where", lab.ErrNoData, file, dir)
	}
	return path, nil
}

func labCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "lab", Short: "Run experiments, and compare them with published results",
		Long: "Experiments run the policies of the live crawl on simulated or recorded webs. Each prints a table, or with --json one\n" +
			"object with its parameters and rows.",
		Example: "  freshet lab list\n  freshet lab run queue --runs 30 --json\n  freshet lab report --out report --quick",
		Args:    command.GroupArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(labListCommand(), labRunCommand(), labReportCommand())
	return cmd
}

func labListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the experiments", Args: command.NoArgs,
		Example: "  freshet lab list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			type line struct {
				Name       string `json:"name"`
				Summary    string `json:"summary"`
				Reproduces string `json:"reproduces"`
			}
			encoder := json.NewEncoder(cmd.OutOrStdout())
			for _, e := range experiments() {
				if asJSON {
					if err := encoder.Encode(line{e.Name, e.Summary, e.Reproduces}); err != nil {
						return err
					}
					continue
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%-18s %s\n", e.Name, e.Summary)
				if e.Reproduces != "" {
					fmt.Fprintf(cmd.OutOrStdout(), "%-18s (%s)\n", "", e.Reproduces)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object per line")
	return cmd
}

func labRunCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "run NAME", Short: "Run an experiment",
		Example: "  freshet lab run queue\n  freshet lab run queue --help",
		Args:    command.GroupArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, e := range experiments() {
		cmd.AddCommand(experimentCommand(e))
	}
	return cmd
}

// experimentCommand returns the command that runs an experiment; its parameters are flags.
func experimentCommand(e lab.Experiment) *cobra.Command {
	var asJSON, quiet bool
	var plots string
	trial := e.New()
	cmd := &cobra.Command{
		Use: e.Name, Short: e.Summary, Args: command.NoArgs,
		Example: "  freshet lab run " + e.Name + " --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			progress := newLabProgress(cmd.ErrOrStderr(), quiet)
			result, err := trial.Run(ctx, progress.show)
			progress.clear()
			if wrong, ok := errors.AsType[*lab.ParameterError](err); ok {
				return command.Usage(wrong)
			}
			if ctx.Err() != nil {
				return &command.Error{Code: command.ExitInterrupted, Err: errors.New("interrupted")}
			}
			if err != nil {
				return err
			}
			if err := lab.WritePlots(result.Plots, plots); err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(result)
			}
			return result.WriteTable(cmd.OutOrStdout())
		},
	}
	if e.Reproduces != "" {
		cmd.Long = "Reproduces: " + e.Reproduces + "."
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(trial.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&plots, "plot", "", "write the plots to this SVG file, further ones to FILE-2.svg and so on")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "do not show progress")
	return cmd
}
