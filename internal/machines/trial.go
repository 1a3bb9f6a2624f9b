//go:build linux

package machines

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Connect connects to the servers, now or as soon as one answers.
func Connect() (*nats.Conn, error) {
	return nats.Connect(BrokerURLs(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.RetryOnFailedConnect(true),
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2), nats.Timeout(time.Second),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // broken connections are part of the trial
}

// mostBehind is how many messages a copy may lag while it is being written.
const mostBehind = 20

// Uncopied returns a stream without a leader or with an incomplete copy; "" if there is none.
func Uncopied(js jetstream.JetStream) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	names := js.StreamNames(ctx)
	for name := range names.Name() {
		s, err := js.Stream(ctx, name)
		if err != nil {
			return fmt.Sprintf("%s: %v", name, err)
		}
		c := s.CachedInfo().Cluster
		if c == nil || c.Leader == "" || len(c.Replicas) != Brokers-1 {
			return name + " has no leader"
		}
		for _, r := range c.Replicas {
			if !r.Current || r.Offline || r.Lag > mostBehind {
				return fmt.Sprintf("%s: copy of %s: current %v, offline %v, lag %d", name, r.Name, r.Current, r.Offline, r.Lag)
			}
		}
	}
	if err := names.Err(); err != nil {
		return err.Error()
	}
	return ""
}

// Damage flips a bit in some files below a folder. some returns how many, given the number of files.
func Damage(rng *rand.Rand, dir string, some func(files int) int) error {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil && info.Size() > 0 {
				files = append(files, path)
			}
		}
		return err
	})
	if err != nil || len(files) == 0 {
		return err
	}
	for range some(len(files)) {
		name := files[rng.IntN(len(files))]
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
