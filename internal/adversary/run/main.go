// Command run crawls a hostile web with the built program, in a memory cgroup, and judges the run. See package
// adversary.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"freshet/internal/adversary"
)

// settings are the arguments of the command line.
type settings struct {
	freshet string
	seed    uint64
	minutes float64
	hostile int
	honest  int
	kinds   string
	delay   time.Duration
	memory  string
	limit   string
	keep    bool
}

func main() {
	var s settings
	flag.StringVar(&s.freshet, "freshet", "bin/freshet", "the program under test")
	flag.Uint64Var(&s.seed, "seed", 1, "of the web")
	flag.Float64Var(&s.minutes, "minutes", 3, "how long the crawl lasts")
	flag.IntVar(&s.hostile, "hostile", 200, "hosts that mean harm")
	flag.IntVar(&s.honest, "honest", 20, "hosts that don't")
	flag.StringVar(&s.kinds, "kinds", "", "kinds of harm, with commas; empty: all")
	flag.DurationVar(&s.delay, "delay", 2*time.Second, "the crawl's --delay: politeness is to be the limit, not the machine")
	flag.StringVar(&s.memory, "memory", "256MiB", "the crawl's --memory; empty: its default")
	flag.StringVar(&s.limit, "cgroup", "400M", "bytes of the memory cgroup, with K, M or G")
	flag.BoolVar(&s.keep, "keep", false, "keep the data directory")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if flag.Arg(0) == "serve" {
		exit(serve(s.plan(), s.delay))
		return
	}
	exit(s.run(ctx))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "adversary:", err)
		os.Exit(1)
	}
}

// pages returns how many pages an honest host has, so that politeness takes seven eighths of the time.
func (s *settings) pages() int {
	return max(1, int(s.minutes*60/s.delay.Seconds()*7/8)-1)
}

func (s *settings) plan() adversary.Plan {
	p := adversary.Plan{Seed: s.seed, Hostile: s.hostile, Honest: s.honest, Pages: s.pages()}
	if s.kinds != "" {
		p.Kinds = strings.Split(s.kinds, ",")
	}
	return p
}
