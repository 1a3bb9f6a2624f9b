package cluster

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/internal/broker"
)

// newBucket makes the bucket of the cluster "test" on a server of its own.
func newBucket(t *testing.T) (*nats.Conn, jetstream.KeyValue) {
	t.Helper()
	conn, err := nats.Connect(broker.JetStream(t).ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: bucketName("test")})
	if err != nil {
		t.Fatal(err)
	}
	return conn, kv
}

// TestKeysWhileWritten lists the keys of a bucket while each of them is written again and again. None is missed.
func TestKeysWhileWritten(t *testing.T) {
	conn, kv := newBucket(t)
	want := []string{"node.0", "node.1", "node.2"}
	for _, key := range want {
		if _, err := kv.PutString(t.Context(), key, ""); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var writers sync.WaitGroup
	defer writers.Wait()
	defer close(stop)
	for _, key := range want {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := kv.PutString(t.Context(), key, strconv.Itoa(i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	bucket, err := openBucket(t.Context(), conn, "test")
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		got, _, err := bucket.Keys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("keys (-want +got):\n%s", diff)
		}
	}
}

// ahead is a bucket on servers whose clock is ahead of this machine's.
type ahead struct {
	bucket
	by time.Duration
}

func (a ahead) Keys(ctx context.Context) (keys []string, now time.Time, err error) {
	keys, now, err = a.bucket.Keys(ctx)
	return keys, now.Add(a.by), err
}

func (a ahead) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	e, err := a.bucket.Get(ctx, key)
	return laterEntry{e, a.by}, err
}

// laterEntry is an entry of ahead.
type laterEntry struct {
	jetstream.KeyValueEntry
	by time.Duration
}

func (e laterEntry) Created() time.Time { return e.KeyValueEntry.Created().Add(e.by) }

// TestNodesWhateverTheClock holds that an operator whose clock is wrong by minutes sees that a node is alive.
func TestNodesWhateverTheClock(t *testing.T) {
	conn, kv := newBucket(t)
	if _, err := kv.PutString(t.Context(), leasePrefix+"a", `{"node":"a"}`); err != nil {
		t.Fatal(err)
	}
	b, err := openBucket(t.Context(), conn, "test")
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []time.Duration{-10 * time.Minute, 0, 10 * time.Minute} {
		all, err := nodes(t.Context(), ahead{b, by})
		if err != nil || len(all) != 1 || all[0].Health != "alive" || all[0].Age > 60 {
			t.Errorf("the servers' clock is %s ahead: %+v, %v, want a node that is alive", by, all, err)
		}
	}
}
