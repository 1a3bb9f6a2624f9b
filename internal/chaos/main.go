//go:build linux

// Command chaos puts a cluster on trial: nodes of the program share a crawl over three NATS servers, each a process
// with a network and a disk of its own, while faults are drawn from a seed. Servers and nodes are killed, stopped, cut
// off, and run out of space; disks are wiped and damaged; clocks are set; nodes join, leave and are upgraded. The
// object store that has the captures is killed.
//
// At the end it compares what the nodes and the feed's mirrors have with the log of the web that was crawled, and says
// how long recoveries took. SIGTERM to the trial's process ends the faults early.
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

// settings are what a trial is told.
type settings struct {
	seed       uint64
	events     int
	kinds      string
	partitions int
	hosts      int // of each partition
	pages      int // of each host
	words      int // of a page, where costs are measured
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
	flag.Uint64Var(&s.seed, "seed", 1, "of the faults")
	flag.IntVar(&s.events, "events", 30, "how many faults there are")
	flag.StringVar(&s.kinds, "kinds", "", "kinds of faults, with commas between; empty: all")
	flag.IntVar(&s.partitions, "partitions", 16, "partitions of the cluster")
	flag.IntVar(&s.hosts, "hosts", 2, "hosts of each partition")
	flag.IntVar(&s.pages, "pages", 12, "pages of each host")
	flag.IntVar(&s.words, "words", 1200, "of a page, with -measure")
	flag.IntVar(&s.copies, "copies", 0, "of each partition; 0: every node has all")
	measures := flag.Bool("measure", false, "no faults: measure what a page costs one process alone, and one, two and three nodes")
	grows := flag.Bool("grow", false, "no faults: have the cluster grow from one node to three and five, and shrink to two")
	flag.DurationVar(&s.delay, "delay", 500*time.Millisecond, "of the crawl")
	flag.IntVar(&s.budget, "budget", 900, "requests of the crawl in a minute")
	flag.StringVar(&s.dir, "dir", "", "where all is kept; empty: a temporary folder, removed if the cluster holds")
	flag.StringVar(&s.previous, "previous", "HEAD~1", "commit of the other build of upgrades")
	flag.StringVar(&s.server, "server", ".tools/versitygw", "program of the object store")
	flag.StringVar(&s.results, "results", "", "file to which a line about the trial is added")
	tell := flag.String("tell", "", "no trial: sum up the file of an earlier -results")
	flag.StringVar(&s.programs, "programs", "", "folder of an earlier trial, whose builds are taken; empty: they are built")
	role := flag.String("role", "", "what this process is: server, node, or the trial")
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
		return errors.Join(err, fmt.Errorf("what the processes have said is in %s", s.dir))
	}
	if temporary {
		return os.RemoveAll(s.dir)
	}
	return nil
}

// real is the time: the faults of a trial are those of real processes.
var real = clock.Real()

func sleep(d time.Duration) { _ = real.Sleep(context.Background(), d) }
