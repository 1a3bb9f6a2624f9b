package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/dashboard/units"
	"freshet/node"
	"freshet/objects"
	"freshet/store"
	"freshet/store/segments"
)

// segmentSettings say where closed WARC files are kept.
type segmentSettings struct {
	address string
	cache   byteCount
}

func (s *segmentSettings) declare(flags *pflag.FlagSet) {
	s.cache = segments.DefaultCache
	flags.StringVar(&s.address, "segments", "", "destination of closed WARC files: s3://BUCKET/PREFIX or a folder; empty: the directory's earlier destination, if any")
	flags.Var(&s.cache, "segments-cache", "size of the cache on disk for reads of moved WARC files; 0: none")
	check(flags, validSegments, "segments")
}

func validSegments(address string) error {
	if address == "" {
		return nil
	}
	return objects.Check(address)
}

// addressOf returns where the WARC files of a directory are moved: the address, or what the directory says.
func addressOf(data, address string) (string, error) {
	if address == "" {
		return segments.Address(vfs.Default, data)
	}
	if objects.IsBucket(address) {
		return address, nil
	}
	return outside(data, address)
}

// use has a crawl keep its closed WARC files where the settings or the directory say.
func (s *segmentSettings) use(o *node.Options) error {
	moved, err := segmentsOf(o.Dir, s.address, segments.Options{CacheBytes: int64(s.cache), Publish: true, Clock: o.Clock, Logger: o.Logger})
	o.Segments = moved
	return err
}

// segmentsOf returns the moved WARC files of a directory; nil if none are moved.
func segmentsOf(data, address string, o segments.Options) (*segments.Segments, error) {
	address, err := addressOf(data, address)
	if err != nil || address == "" {
		return nil, err
	}
	if o.Store, err = objects.Open(vfs.Default, address); err != nil {
		return nil, err
	}
	return segments.New(o), nil
}

// withSegments completes the options by which a directory is opened where no crawl runs in it. Its own output it leaves
// as it is.
func withSegments(data string, o store.Options) (_ store.Options, err error) {
	if o.Segments != nil {
		return o, nil
	}
	o.Segments, err = segmentsOf(data, "", segments.Options{CacheBytes: -1, Clock: clock.Real(), Logger: o.Logger})
	return o, err
}

// openAlone opens a directory where no crawl runs in it. If a purge was interrupted, it takes down the rest first, also
// for a reader.
func openAlone(data string, o store.Options) (*store.Store, error) {
	open := func(o store.Options) (*store.Store, error) {
		o, err := withSegments(data, o)
		if err != nil {
			return nil, err
		}
		return store.Open(data, o)
	}
	s, err := open(o)
	if !errors.Is(err, store.ErrTakeDown) {
		return s, err
	}
	writing := o
	writing.ReadOnly = false
	if s, err = open(writing); err == nil {
		err = s.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("a purge of %s was interrupted and cannot be resumed: %w", data, err)
	}
	return open(o)
}

func segmentsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "segments", Short: "Manage WARC files in an object store", Args: command.GroupArgs,
		Long:    "With --segments, crawl and serve move closed WARC files to an object store.",
		Example: "  freshet segments take --data archive",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	take := &cobra.Command{
		Use: "take", Short: "Make this data directory the owner of the WARC files in an object store", Args: command.NoArgs,
		Long: "A restored directory reads the WARC files in an object store but does not change them, because they also belong\n" +
			"to the directory that the snapshot came from. When that one is gone, run this command. Then the restored\n" +
			"directory may upload, rewrite and remove the files, and the original one is refused. Files in the object store\n" +
			"that the directory does not know are added to it.",
		Example: "  freshet segments take --data restored",
	}
	data, _ := directoryFlags(take)
	account := accountOf(take)
	address := take.Flags().String("segments", "", "where the WARC files are; empty: where the directory says")
	check(take.Flags(), validSegments, "segments")
	take.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkDirectory(*data); err != nil {
			return err
		}
		taken, err := patiently(cmd.Context(), *data, func() (segments.Status, error) { return takeSegments(cmd.Context(), *data, *address) })
		if err != nil {
			return err
		}
		fact := struct {
			Data     string `json:"data"`
			Segments string `json:"segments"`
			Files    int    `json:"files"`
			Size     int64  `json:"size_bytes"`
		}{*data, taken.Address, taken.Moved, taken.MovedBytes}
		return account.give(nil, "", fact, fmt.Sprintf("%s has %s, %s, in %s", *data, units.Plural(int64(taken.Moved), "WARC file"), units.Bytes(taken.MovedBytes), taken.Address))
	}
	cmd.AddCommand(take)
	return cmd
}

// takeSegments lets a directory change the objects at an address.
func takeSegments(ctx context.Context, data, address string) (taken segments.Status, err error) {
	address, err = addressOf(data, address)
	if err == nil && address == "" {
		err = command.Usage(fmt.Errorf("%s has moved no WARC file: --segments says where they are", data))
	}
	if err != nil {
		return taken, err
	}
	objectStore, err := objects.Open(vfs.Default, address)
	if err != nil {
		return taken, err
	}
	defer objectStore.Close()
	lock, err := store.Lock(vfs.Default, data)
	if err != nil {
		return taken, err
	}
	taken, err = segments.Take(ctx, vfs.Default, data, objectStore)
	return taken, errors.Join(err, lock.Close())
}
