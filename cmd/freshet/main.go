// Command freshet is a web crawler that keeps its copy fresh. This package holds flags, settings and
// wiring; everything it does is done by the other packages.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Exit codes, as documented in the README.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 3
	exitLimit       = 4
)

// exitError ends the process with a code; its error, if any, is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage wraps an error of the command line: exit code 2.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

func main() { os.Exit(run(context.Background(), os.Args[1:])) }

// run executes a command line and returns the exit code.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	coded, ok := errors.AsType[*exitError](err)
	if !ok {
		// Whatever a command did not give a code is cobra's own complaint about the line, or a failure.
		coded = &exitError{exitFailed, err}
	}
	if coded.err != nil {
		fmt.Fprintf(os.Stderr, "freshet: %v\n", coded.err)
	}
	return coded.code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "freshet",
		Short:         "A web crawler that keeps its copy fresh",
		Long:          "Freshet discovers the pages of sites politely, stores every version in WARC files\nthat other tools read, and loses nothing when it is killed.",
		Example:       "  freshet demo\n  freshet crawl https://example.org/ --contact mailto:you@example.org",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("freshet {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.AddCommand(
		crawlCommand(), demoCommand(), statusCommand(),
		pagesCommand(), historyCommand(), catCommand(),
		exportCommand(), importCommand(), verifyCommand(),
		urlCommand(), robotsCommand(), configCommand(),
	)
	for _, cmd := range root.Commands() {
		if check := cmd.Args; check != nil {
			cmd.Args = func(cmd *cobra.Command, args []string) error { return usage(check(cmd, args)) }
		}
	}
	return root
}

// version returns the module's version, or the revision that the binary was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return "devel-" + setting.Value[:12]
		}
	}
	return "devel"
}
