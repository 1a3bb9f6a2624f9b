package cluster

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/clock"
	"freshet/internal/broker"
	"freshet/log"
)

// TestRefusals holds that a node is refused where the cluster is not what it takes it for, and is told what to do. No
// stream is made or changed before.
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
			Cluster: cluster, Node: "a", Instance: "of a", Partitions: partitions, Replicas: 1, Clock: clock.Real(),
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
	for name, its := range map[string]string{"newer": `{"partitions":16,"format":1000}`, "older": `{"partitions":16,"format":0}`} {
		bucket, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name + "-nodes"})
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

// TestDirectoryOfAnotherCluster holds that a directory stays with its cluster.
func TestDirectoryOfAnotherCluster(t *testing.T) {
	fsys := vfs.NewMem()
	first, err := Instance(fsys, "data", "one")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Instance(fsys, "data", "one"); err != nil || again != first {
		t.Errorf("%q, then %q: %v", first, again, err)
	}
	if _, err := Instance(fsys, "data", "two"); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "give --cluster one, or another --data") {
		t.Errorf("in another cluster: %v", err)
	}
}
