//go:build linux

// Command gate tests whether a cluster can rely on JetStream. Three nodes write the logs of partitions to three
// servers. All are processes with networks of their own, which are killed, stopped and cut off while disks are
// wiped and damaged. At the end no acknowledged entry may be missing, all servers must have the same bytes, and no
// deposed node may have written.
//
//	gate -events 60 -seed 1
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"freshet/clock"
	"freshet/internal/machines"
)

// Settings are the settings of all processes of a trial.
type Settings struct {
	Partitions, Streams int
	Lease               time.Duration
	Pause               time.Duration // between two entries of a partition
	Largest             int           // bytes of an entry's data
}

func main() {
	var s Settings
	flag.IntVar(&s.Partitions, "partitions", 64, "partitions of the cluster")
	flag.IntVar(&s.Streams, "streams", 64, "streams that they share")
	flag.DurationVar(&s.Lease, "lease", 3*time.Second, "after which a node that is not heard of is taken for dead")
	flag.DurationVar(&s.Pause, "pause", 500*time.Millisecond, "between two entries of a partition")
	flag.IntVar(&s.Largest, "largest", 64<<10, "bytes of an entry")
	role := flag.String("role", "", "what this process is: server, node, or the trial")
	name := flag.String("name", "", "of a server or node")
	dir := flag.String("dir", "", "where servers keep their files; empty: a temporary folder")
	seed := flag.Uint64("seed", 1, "of the faults")
	events := flag.Int("events", 24, "how many faults there are")
	spare := flag.String("without", "", "kinds of faults to leave out, with commas between")
	flag.Parse()
	var err error
	switch *role {
	case "server":
		err = machines.ServeBroker(*name, *dir)
	case "node":
		err = run(*name, s)
	case "trial":
		err = try(s, *dir, *seed, *events, *spare)
	default:
		err = machines.Enter(append([]string{"-role", "trial"}, os.Args[1:]...)...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gate:", err)
		os.Exit(1)
	}
}

// real is the time: the faults of a trial are those of real processes.
var real = clock.Real()

func sleep(d time.Duration) { _ = real.Sleep(context.Background(), d) }
