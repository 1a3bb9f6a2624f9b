package cluster

import (
	"strconv"
	"sync"
	"testing"

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
		got, err := bucket.Keys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("keys (-want +got):\n%s", diff)
		}
	}
}
