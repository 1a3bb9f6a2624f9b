// Command freshet is a web crawler that keeps its copy fresh. This package has only flags, settings and wiring; the
// other packages do the work.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	_ "time/tzdata" // visiting hours need time zones, also where the system has none

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/cmd/freshet/command"
	"freshet/cmd/freshet/plan"
	"freshet/store"
)

func main() { os.Exit(run(context.Background(), os.Args[1:])) }

// run executes a command line and returns the exit code. It writes messages to standard error, one line each.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := unknownCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return command.ExitDone
	}
	coded, ok := errors.AsType[*command.Error](err)
	if !ok {
		coded = &command.Error{Code: command.ExitFailed, Err: err}
	}
	if coded.Err != nil {
		if store.IsDamage(coded.Err) {
			coded.Err = damageError(coded.Err)
		}
		for line := range strings.SplitSeq(plainly(coded.Err), "\n") {
			fmt.Fprintf(os.Stderr, "freshet: %s\n", line)
		}
	}
	return coded.Code
}

// damageError says what to do about data that cannot be read.
func damageError(err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("%s\nstored data is damaged: freshet verify --repair, with the same --data, repairs what it can", first)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "freshet",
		Short:         "A web crawler that keeps its copy fresh",
		Long:          "Freshet crawls sites politely, stores every version of their pages in WARC files, which\nother tools can read, and keeps the copy fresh. It loses nothing when it is killed.",
		Example:       "  freshet demo\n  freshet crawl https://example.org/ --contact mailto:you@example.org",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          command.GroupArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("freshet {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(
		profiled(crawlCommand()), profiled(serveCommand()), profiled(demoCommand()), viewCommand(), statusCommand(),
		pagesCommand(), historyCommand(), catCommand(), textCommand(), searchCommand(), explainCommand(),
		exportCommand(), importCommand(), verifyCommand(),
		snapshotCommand(), restoreCommand(), migrateCommand(), segmentsCommand(), subscribeCommand(),
		doctorCommand(), seenCommand(), labCommand(), clusterCommand(),
		urlCommand(), robotsCommand(), configCommand(), versionCommand(),
	)
	root.AddCommand(plan.Commands()...)
	root.AddCommand(steeringCommands()...)
	root.AddCommand(docsCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	codeArgs(root)
	groupHelp(root)
	return root
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the help of a command",
		Example: "  freshet help crawl",
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = command.GroupArgs(target, rest)
			}
			if err != nil {
				return command.Usage(err)
			}
			return target.Help()
		},
	}
}

// codeArgs gives errors about arguments, of a command and its subcommands, the exit code for wrong usage.
func codeArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return command.Usage(check(cmd, args)) }
	}
	for _, below := range cmd.Commands() {
		codeArgs(below)
	}
}

// unknownCommand returns an error if args name no command. It runs before flags are parsed.
func unknownCommand(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.HasSubCommands() || len(rest) == 0 || strings.HasPrefix(rest[0], "-") || strings.HasPrefix(rest[0], "__") {
		return nil // what begins with __ is for shells
	}
	if u, ok := urlOf(rest[0]); cmd == root && ok && strings.ContainsAny(rest[0], ".:") {
		return command.Usage(fmt.Errorf("%q is not a command (did you mean freshet crawl %s?)", brief(rest[0]), brief(u.String())))
	}
	return command.Usage(command.GroupArgs(cmd, rest))
}

// flagError makes an error about a flag readable.
func flagError(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return command.Usage(fmt.Errorf("--%s: %w", invalid.GetFlag().Name, invalid.Unwrap()))
	}
	hint := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name, _, _ := strings.Cut(cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName()), "=")
		if near := command.Nearest(name, names); near != "" {
			hint = fmt.Sprintf("did you mean --%s? ", near)
		}
	}
	return command.Usage(fmt.Errorf("%w (%ssee %s --help)", err, hint, cmd.CommandPath()))
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
