package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/store"
)

// directory is a data directory and a crawl in it, from flags, environment or --config.
type directory struct {
	data, crawl string
	settings    *crawlSettings // of the environment and --config, for use if no crawl runs
}

// directoryOf adds the flags that name a data directory and a crawl to a command. They are set when the command runs.
func directoryOf(cmd *cobra.Command) *directory {
	d := &directory{}
	flags := cmd.Flags()
	flags.StringVar(&d.data, "data", cmp.Or(os.Getenv(variable("data")), "data"), "data directory")
	flags.StringVar(&d.crawl, "crawl", cmp.Or(os.Getenv(variable("crawl")), "main"), "name of the crawl in the data directory")
	check(flags, validCrawl, "crawl")
	config := flags.String("config", "", "YAML file with the settings of the crawl, from which --data and --crawl are taken")
	settings := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	d.settings = crawlFlags(settings)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := settle(settings, *config, cmd.InOrStdin()); err != nil {
			return command.Usage(err)
		}
		if !flags.Changed("data") {
			d.data = d.settings.data
		}
		if !flags.Changed("crawl") {
			d.crawl = d.settings.options.Crawl
		}
		return nil
	}
	return d
}

// directoryFlags is directoryOf for a command that needs only the two names.
func directoryFlags(cmd *cobra.Command) (data, crawl *string) {
	d := directoryOf(cmd)
	return &d.data, &d.crawl
}

// checkDirectory returns an error if there is no data directory at a path.
func checkDirectory(data string) error {
	if store.Exists(vfs.Default, data) {
		return nil
	}
	if err := reachable(data); err != nil {
		return usable(data, err)
	}
	info, err := os.Stat(data)
	near := command.Nearest(data, directories())
	switch {
	case near != "":
		return fmt.Errorf("there is no data directory at %q (did you mean %s?)", data, near)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%q is a file: want a data directory, which freshet crawl makes, or freshet import from WARC files", data)
	case strings.Contains(data, "://"):
		return fmt.Errorf("%q is a URL: want a data directory, as freshet crawl makes of a URL", data)
	case err == nil:
		return fmt.Errorf("there is no crawl in %q: want a data directory, as freshet crawl makes", data)
	}
	return fmt.Errorf("there is no data directory at %q: give the path of yours, or make one with freshet crawl --data %[1]s", data)
}

// reachable returns why nobody can tell whether there is a data directory at a path, such as a missing permission.
func reachable(data string) error {
	info, err := os.Stat(data)
	if err == nil && info.IsDir() {
		var dir *os.File
		if dir, err = os.Open(data); err == nil {
			err = dir.Close()
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// directories returns the data directories among the first hundred names in the working directory.
func directories() (names []string) {
	here, err := os.Open(".")
	if err != nil {
		return nil
	}
	defer here.Close()
	found, _ := here.Readdirnames(100) // without a hint if it cannot be read
	for _, name := range found {
		if store.Exists(vfs.Default, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// openStore opens a data directory and a crawl in it. Both must exist, except that a directory without a record of
// any crawl may be opened for writing.
func openStore(data string, o store.Options) (*store.Store, error) {
	if err := checkDirectory(data); err != nil {
		return nil, err
	}
	s, err := openAlone(data, o)
	if err != nil {
		return nil, err
	}
	if !s.Start().Fresh {
		return s, nil
	}
	names, err := s.Crawls()
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("there is no crawl %q in %s, but %s", o.Crawl, data, strings.Join(names, ", "))
	} else if err == nil && o.ReadOnly {
		err = fmt.Errorf("there is no crawl in %s yet", data)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// atRest opens a directory for a command that needs it alone. If a crawl runs in it, the error says what to do
// instead.
func atRest(ctx context.Context, data, instead string, open func() (*store.Store, error)) (*store.Store, error) {
	s, err := patiently(ctx, data, open)
	if errors.Is(err, errTaken) {
		if conn, dialing := dialSocket(ctx, filepath.Join(data, socketName)); dialing == nil {
			conn.Close()
			return nil, fmt.Errorf("a crawl is running in %[1]s: run freshet snapshot --data %[1]s COPY, then %[2]s", data, instead)
		}
	}
	return s, err
}

// usable adds to an error of the system about a data directory's path what to check.
func usable(data string, err error) error {
	fault, ok := errors.AsType[*fs.PathError](err)
	if !ok || !strings.HasPrefix(fault.Path, data) && !strings.HasPrefix(data, fault.Path) {
		return err
	}
	switch fault.Err {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.EACCES, syscall.EPERM, syscall.EROFS:
		return fmt.Errorf("--data %q cannot be used (%s): check its path and who may write there, or use another directory", data, fault.Err) //nolint:errorlint // the words are what it says
	}
	return err
}

// errTaken is the error of a directory that another process uses.
var errTaken = errors.New("wait for it, stop it, or use another directory (--data OTHER)")

// patiently opens a data directory. While another process has it, patiently tries again for about two seconds: a
// killed process releases the directory only when the system has cleaned up, and a starting one will soon answer
// questions.
func patiently[T any](ctx context.Context, data string, open func() (T, error)) (T, error) {
	c := clock.Real()
	for try := 1; ; try++ {
		opened, err := open()
		switch {
		case !errors.Is(err, store.ErrLocked):
			return opened, usable(data, err)
		case try == 40 || c.Sleep(ctx, 50*time.Millisecond) != nil:
			return opened, fmt.Errorf("another process (a crawl, or freshet view) is using %s: %w", data, errTaken)
		}
	}
}
