package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/clock"
	"freshet/internal/broker"
	"freshet/log"
	"freshet/objects"
)

// TestRefusals holds that Join refuses a cluster that does not match the node's settings. The error says what to do.
// Join then makes and changes no stream.
func TestRefusals(t *testing.T) {
	conn, err := nats.Connect(broker.JetStream(t).ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	opened := 0
	open := func(context.Context) (log.Log, error) {
		opened++
		return logOf{newWorld(t, 1, ""), "a"}, nil
	}
	of := func(cluster string, partitions int) Options {
		return Options{
			Cluster: cluster, Crawl: "main", Node: "a", Directory: newDirectory(t, cluster), Partitions: partitions, Replicas: 1, Clock: clock.Real(),
			Logger: slog.New(slog.DiscardHandler),
		}
	}
	first, err := Join(ctx, conn, open, of("test", 16))
	if err != nil || opened != 1 {
		t.Fatal(err, opened)
	}
	if err := first.Close(ctx, true); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for name, its := range map[string]string{"newer": `{"partitions":16,"format":1000}`, "another": `{"partitions":16,"format":1,"crawl":"news"}`, "older": `{"partitions":16,"format":0}`} {
		bucket, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucketName(name)})
		if err == nil {
			_, err = bucket.PutString(ctx, charterKey, its)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, try := range []struct {
		cluster    string
		partitions int
		says       string
	}{
		{"test", 32, "start with --partitions 16 and an empty directory"},
		{"another", 16, "start with --crawl news, or begin a new cluster"},
		{"newer", 16, "install the version of its other nodes"},
		{"older", 16, "install an older version, or begin a new cluster"},
	} {
		if _, err := Join(ctx, conn, open, of(try.cluster, try.partitions)); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), try.says) {
			t.Errorf("%s with %d partitions: %v, want %q", try.cluster, try.partitions, err, try.says)
		}
	}
	if opened != 1 {
		t.Errorf("the log is opened %d times", opened)
	}
}

// TestUnanswered holds the answers of servers that a node takes as final. Too few servers with a connection is not
// final: the others may be about to start.
func TestUnanswered(t *testing.T) {
	for _, of := range []struct {
		status int
		code   jetstream.ErrorCode
		want   bool
	}{
		{503, 10008, true},  // no leader
		{400, 10005, true},  // too few servers
		{404, 10059, true},  // no such stream: another server has just made it
		{500, 10074, false}, // a single server is asked for copies
	} {
		err := fmt.Errorf("cluster: %w", &jetstream.APIError{Code: of.status, ErrorCode: of.code})
		if got := unanswered(err); got != of.want {
			t.Errorf("%v: %v, want %v", err, got, of.want)
		}
	}
}

// TestClusterGetsID has nodes join a cluster from the time when clusters had no ID. The first node gives it an ID, and
// the next node has the same ID.
func TestClusterGetsID(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, kv := newBucket(t)
	if _, err := kv.PutString(ctx, charterKey, `{"partitions":16,"format":1}`); err != nil {
		t.Fatal(err)
	}
	bucket, err := openBucket(ctx, conn, "test")
	if err != nil {
		t.Fatal(err)
	}
	var ids [2]string
	for i := range ids {
		if ids[i], err = agree(ctx, bucket, Options{Cluster: "test", Partitions: 16}); err != nil {
			t.Fatal(err)
		}
	}
	if ids[0] == "" || ids[0] != ids[1] {
		t.Errorf("the nodes take the cluster for %q", ids)
	}
}

// newDirectory returns a directory of a cluster, in memory.
func newDirectory(t *testing.T, cluster string) *Directory {
	t.Helper()
	d, err := OpenDirectory(vfs.NewMem(), "data", cluster)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// refused holds that an error is of a kind and says what to do.
func refused(t *testing.T, err, kind error, says string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), says) {
		t.Errorf("%v, want %q", err, says)
	}
}

// TestDirectoryOfAnotherCluster holds that a directory stays with its cluster. It refuses a cluster of another name,
// and another cluster of the same name.
func TestDirectoryOfAnotherCluster(t *testing.T) {
	fsys := vfs.NewMem()
	open := func(cluster string) (*Directory, error) { return OpenDirectory(fsys, "data", cluster) }
	first, err := open("one")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.bind("id of one"); err != nil {
		t.Error(err)
	}
	again, err := open("one")
	if err != nil || again.its != first.its || again.its.Instance == "" {
		t.Fatalf("%+v, then %+v: %v", first.its, again.its, err)
	}
	if err := again.bind("id of one"); err != nil {
		t.Error(err)
	}
	refused(t, again.bind("another id"), ErrOther, "give the --nats servers of that one, or another --data")
	_, err = open("two")
	refused(t, err, ErrOther, "give --cluster one, or another --data")
}

// TestDamagedDirectory flips each bit of cluster.json. The file is called damaged, and no cluster another one. A file
// of an older version has no checksum yet.
func TestDamagedDirectory(t *testing.T) {
	fsys := vfs.NewMem()
	d, err := OpenDirectory(fsys, "data", "one")
	if err == nil {
		err = d.bind("id of one")
	}
	if err != nil {
		t.Fatal(err)
	}
	raw, err := readFile(fsys, d.file())
	if err != nil {
		t.Fatal(err)
	}
	write := func(raw []byte) {
		if err := writeFile(fsys, "data", d.file(), raw); err != nil {
			t.Fatal(err)
		}
	}
	for bit := range 8 * len(bytes.TrimSpace(raw)) {
		damaged := bytes.Clone(raw)
		damaged[bit/8] ^= 1 << (bit % 8)
		write(damaged)
		again, err := OpenDirectory(fsys, "data", "one")
		if err == nil && again.its == d.its {
			continue // the name of the checksum has another case
		}
		refused(t, err, ErrDamaged, "remove it")
	}
	write([]byte(`{"cluster":"one","id":"id of one","instance":"I"}`))
	for _, old := range []bool{true, false} {
		again, err := OpenDirectory(fsys, "data", "one")
		if err == nil {
			err = again.bind("id of one")
		}
		if err != nil || again.old != old {
			t.Error(again, err)
		}
	}
}

// TestOtherClusterOfTheName has a node come to servers where another cluster uses its cluster's name. The snapshots
// are in the same bucket.
func TestOtherClusterOfTheName(t *testing.T) {
	bucket, err := objects.Open(vfs.NewMem(), "snapshots")
	if err != nil {
		t.Fatal(err)
	}
	join := func(s *server.Server, d *Directory, c *clock.Clock, kept objects.Store) error {
		conn, err := nats.Connect(s.ClientURL())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		o := Options{
			Cluster: "test", Node: "a", Directory: d, Partitions: 4, Replicas: 1, Clock: c, Logger: slog.New(slog.DiscardHandler),
			Snapshots: &Snapshots{Store: kept, Every: time.Hour, FS: vfs.NewMem(), File: "snapshot"},
		}
		open := func(context.Context) (log.Log, error) { return logOf{newWorld(t, 1, ""), "a"}, nil }
		part, err := Join(ctx, conn, open, o)
		if err == nil {
			err = part.Close(ctx, true)
		}
		return err
	}
	one, two, mine := broker.JetStream(t), broker.JetStream(t), newDirectory(t, "test")
	for range 2 {
		if err := join(one, mine, clock.Real(), bucket); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, join(two, mine, clock.Real(), bucket), ErrOther, "give the --nats servers of that one, or another --data")
	refused(t, join(two, newDirectory(t, "test"), clock.Real(), bucket), ErrOther, "give --partition-snapshots another prefix")
	if err := join(two, newDirectory(t, "test"), clock.Real(), silent{bucket}); err != nil {
		t.Errorf("while the store does not answer: %v", err)
	}
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		refused(t, join(one, mine, clock.New(clock.Real().Now().Add(off), 1), bucket), ErrClock, "set both by NTP")
	}
}

// silent is a store that does not answer.
type silent struct{ objects.Store }

func (silent) Create(context.Context, string, []byte) error { return errors.New("no answer") }

// TestExpireANodeThatLives holds that a node that has not heard of another for a while does not say that it is dead, if
// the servers have a newer lease of it.
func TestExpireANodeThatLives(t *testing.T) {
	_, kv := newBucket(t)
	if _, err := kv.PutString(t.Context(), leaseKey("a"), `{"node":"a"}`); err != nil {
		t.Fatal(err)
	}
	heard, err := kv.Get(t.Context(), leaseKey("a"))
	if err != nil {
		t.Fatal(err)
	}
	seen := Seen{State: State{Node: "a"}, Revision: heard.Revision()}
	if _, err := kv.PutString(t.Context(), leaseKey("a"), `{"node":"a","beat":2}`); err != nil {
		t.Fatal(err)
	}
	if err := expire(t.Context(), serverBucket{KeyValue: kv}, seen); !errors.Is(err, errAlive) {
		t.Errorf("got %v, want %v", err, errAlive)
	}
}
