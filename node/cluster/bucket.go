package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// bucket stores the entries of a cluster: each write names the revision that it replaces.
type bucket interface {
	Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error)
	Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (revision uint64, err error)
	Update(ctx context.Context, key string, value []byte, behind uint64) (revision uint64, err error)
	WatchAll(ctx context.Context, opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error)
	// Keys returns the keys, sorted, and the time by the servers' clock.
	Keys(ctx context.Context) (keys []string, now time.Time, err error)
}

// bucketName returns the name of a cluster's bucket.
func bucketName(cluster string) string { return cluster + "-nodes" }

// openBucket opens the bucket of a cluster that exists.
func openBucket(ctx context.Context, conn *nats.Conn, cluster string) (bucket, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	entries, err := js.KeyValue(ctx, bucketName(cluster))
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, fmt.Errorf("cluster: the servers have no cluster %s: give its name with --cluster", cluster)
	} else if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return withStream(ctx, js, entries)
}

// serverBucket is a bucket on the servers, with the stream that keeps it.
type serverBucket struct {
	jetstream.KeyValue
	stream jetstream.Stream
}

func withStream(ctx context.Context, js jetstream.JetStream, entries jetstream.KeyValue) (bucket, error) {
	stream, err := js.Stream(ctx, "KV_"+entries.Bucket())
	if err != nil {
		return nil, fmt.Errorf("cluster: the stream of bucket %s: %w", entries.Bucket(), err)
	}
	return serverBucket{entries, stream}, nil
}

// Keys returns the keys of one moment, in order. The Keys of jetstream.KeyValue can miss a key that is written
// meanwhile, such as the lease of a node that beats.
func (b serverBucket) Keys(ctx context.Context) (keys []string, now time.Time, err error) {
	prefix := "$KV." + b.Bucket() + "."
	info, err := b.stream.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
	if err != nil {
		return nil, now, err
	}
	keys = slices.Sorted(maps.Keys(info.State.Subjects))
	for i, subject := range keys {
		keys[i] = strings.TrimPrefix(subject, prefix)
	}
	return keys, info.TimeStamp, nil
}
