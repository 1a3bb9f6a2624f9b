package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"freshet/clock"
	"freshet/store"
)

// directoryFlags adds the flags that name a crawl to look into. As for a crawl, their defaults are what
// the environment says.
func directoryFlags(cmd *cobra.Command) (data, crawl *string) {
	flags := cmd.Flags()
	data = flags.String("data", cmp.Or(os.Getenv(variable("data")), "data"), "data directory")
	crawl = flags.String("crawl", cmp.Or(os.Getenv(variable("crawl")), "main"), "name of the crawl in it")
	check(flags, validCrawl, "crawl")
	return data, crawl
}

// openStore opens a data directory and the crawl in it, both of which must be there. A directory that
// was left before the first record of any crawl may be opened for writing.
func openStore(data string, o store.Options) (*store.Store, error) {
	if !store.Exists(vfs.Default, data) {
		return nil, fmt.Errorf("there is no data directory at %q", data)
	}
	s, err := store.Open(data, o)
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

// patiently opens a data directory. While another process has it, that is tried again for some two
// seconds: one that was killed gives the directory back when the system has cleared up after it, and one
// that starts soon answers questions.
func patiently[T any](ctx context.Context, data string, open func() (T, error)) (T, error) {
	c := clock.Real()
	for try := 1; ; try++ {
		opened, err := open()
		switch {
		case !errors.Is(err, store.ErrLocked):
			return opened, err
		case try == 40 || c.Sleep(ctx, 50*time.Millisecond) != nil:
			return opened, fmt.Errorf("another process, such as a running crawl, is using %s: wait for its end or stop it", data)
		}
	}
}
