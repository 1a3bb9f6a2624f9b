package crawled

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/store"
)

// Groups is the log of a cluster, in memory.
type Groups []store.Group

// Append implements store.Log.
func (l *Groups) Append(some []store.Group) error {
	for i := range some {
		some[i].Place.Seq = uint64(len(*l) + 1)
		*l = append(*l, store.Group{Partition: some[i].Partition, Place: some[i].Place, Data: bytes.Clone(some[i].Data)})
	}
	return nil
}

// TwoNodes opens the stores of two nodes of a cluster with a number of partitions. The owner has a page, which is in
// the log. The other node has not followed the log.
func TwoNodes(t *testing.T, partitions int) (owner, other *store.Store, log *Groups) {
	t.Helper()
	open := func(dir string, l *Groups) *store.Store {
		s, err := store.Open(dir, store.Options{FS: vfs.NewMem(), Crawl: "main", Partitions: partitions, Clock: clock.Real(), Log: l})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	log = new(Groups)
	owner, other = open("owner", log), open("other", new(Groups))
	u := parse(t, "http://page.test/")
	if _, err := owner.Apply(&store.Discovered{Partition: owner.Home(u.Site()), New: []store.NewPage{{URL: u, Seed: true}}}); err != nil {
		t.Fatal(err)
	}
	return owner, other, log
}

// Warnings are the lines of a log, for a slog.TextHandler.
type Warnings chan string

// Write implements io.Writer.
func (w Warnings) Write(line []byte) (int, error) {
	w <- string(line)
	return len(line), nil
}
