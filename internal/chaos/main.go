//go:build linux

// Command chaos tests a cluster under faults. Nodes of the program share a crawl over three NATS servers. Each is a
// process with its own network and disk. A seed draws the faults: servers and nodes are killed, stopped, cut off, and
// run out of space; disks are wiped and damaged; clocks are set; nodes join, leave and are upgraded; the object store
// with the captures is killed; pages are taken down.
//
// At the end it compares the nodes and the feed's mirrors with the log of the crawled web, and prints how long
// recoveries took. SIGTERM to the trial's process ends the faults early.
//
//	chaos -seed 1 -events 30 -results trials.ndjson
//	chaos -tell trials.ndjson
//	chaos -grow -partitions 64 -hosts 1 -pages 6
//	chaos -measure -hosts 4 -pages 60
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"freshet/clock"
	"freshet/internal/machines"
)

// settings are the flags of a trial.
type settings struct {
	seed       uint64
	events     int
	kinds      string
	partitions int
	hosts      int // of each partition
	pages      int // of each host
	words      int // of a page, with -measure
	copies     int
	delay      time.Duration
	budget     int // requests a minute
	dir        string
	previous   string
	server     string // program of the object store
	results    string // file to which the result is added; empty: none
	programs   string // folder of the builds
}

func main() {
	var s settings
	flag.Uint64Var(&s.seed, "seed", 1, "seed of the faults")
	flag.IntVar(&s.events, "events", 30, "number of faults")
	flag.StringVar(&s.kinds, "kinds", "", "kinds of faults, separated by commas; empty: all")
	flag.IntVar(&s.partitions, "partitions", 16, "partitions of the cluster")
	flag.IntVar(&s.hosts, "hosts", 2, "hosts of each partition")
	flag.IntVar(&s.pages, "pages", 12, "pages of each host")
	flag.IntVar(&s.words, "words", 1200, "of a page, with -measure")
	flag.IntVar(&s.copies, "copies", 0, "of each partition; 0: every node has all")
	measures := flag.Bool("measure", false, "no faults: measure the cost of a page in one process alone, in three that share nothing, and with one, two and three nodes")
	grows := flag.Bool("grow", false, "no faults: grow the cluster from one node to three and five, and shrink it to two")
	flag.DurationVar(&s.delay, "delay", 500*time.Millisecond, "delay of the crawl")
	flag.IntVar(&s.budget, "budget", 900, "requests of the crawl a minute")
	flag.StringVar(&s.dir, "dir", "", "folder for all files; empty: a temporary folder, removed if the cluster holds")
	flag.StringVar(&s.previous, "previous", "HEAD~1", "commit of the other build, for upgrades")
	flag.StringVar(&s.server, "server", ".tools/versitygw", "program of the object store")
	flag.StringVar(&s.results, "results", "", "file to which the trial's result is added as a line")
	tell := flag.String("tell", "", "no trial: sum up a file of -results")
	flag.StringVar(&s.programs, "programs", "", "folder of an earlier trial, whose builds are used; empty: build them")
	role := flag.String("role", "", "role of this process: server, node, or the trial")
	name := flag.String("name", "", "of a server or node")
	flag.Parse()
	var err error
	switch *role {
	case "server":
		err = machines.ServeBroker(*name, s.dir)
	case "node":
		machines.AwaitNetwork()
		err = syscall.Exec(flag.Arg(0), flag.Args(), os.Environ())
	case "trial":
		switch {
		case *measures:
			err = measure(s)
		case *grows:
			err = grow(s)
		default:
			err = try(s)
		}
	case "":
		if *tell != "" {
			err = sumUp(*tell)
		} else {
			err = begin(s)
		}
	default:
		err = fmt.Errorf("no role %q", *role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// begin builds the programs, and runs the trial in namespaces of its own.
func begin(s settings) (err error) {
	temporary := s.dir == ""
	if temporary {
		if s.dir, err = os.MkdirTemp("", "chaos"); err != nil {
			return err
		}
	}
	for _, path := range []*string{&s.dir, &s.server, &s.results} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if err := checkServer(s.server); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	if s.programs == "" {
		s.programs = s.dir
		if err := build(s.dir, s.previous); err != nil {
			return err
		}
	}
	if err := machines.Enter(append([]string{"-role", "trial"}, append(os.Args[1:], "-dir", s.dir, "-programs", s.programs, "-server", s.server, "-results", s.results)...)...); err != nil {
		return errors.Join(err, fmt.Errorf("the output of the processes is in %s", s.dir))
	}
	if temporary {
		return os.RemoveAll(s.dir)
	}
	return nil
}

// real is the clock: the processes of a trial are real.
var real = clock.Real()

func sleep(d time.Duration) { _ = real.Sleep(context.Background(), d) }
