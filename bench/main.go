package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	if len(args) == 0 {
		return errors.New("want run, known, growth or serve")
	}
	name, args := args[0], args[1:]
	if name == "colly" || name == "colly-one-file" {
		if len(args) < 2 {
			return fmt.Errorf("%s: want a directory and seeds", name)
		}
		keep := keepFiles(args[0])
		if name == "colly-one-file" {
			var err error
			if keep, err = keepOneFile(args[0]); err != nil {
				return err
			}
		}
		return crawlColly(args[1:], keep)
	}
	if name == "known" {
		return known(args)
	}
	if name == "growth" {
		return grow(args)
	}
	flags := flag.NewFlagSet(name, flag.ExitOnError)
	seed := flags.Uint64("seed", 1, "of the web")
	hosts := flags.Int("hosts", 100, "of the web")
	pages := flags.Int("pages", 20000, "of the web")
	foreign := flags.Int("foreign", defaultForeign, "links of a page, of 40, to other hosts")
	latency := flags.Duration("latency", 0, "of each answer")
	port := flags.Int("port", 8099, "that all hosts listen at")
	var c course
	if name == "run" {
		flags.StringVar(&c.freshet, "freshet", "freshet", "the program measured")
		flags.StringVar(&c.scrapy, "scrapy", "scrapy_peer.py", "the Scrapy peer")
		flags.StringVar(&c.only, "only", "", "names of those to run, separated by commas; empty: all")
		flags.StringVar(&c.dir, "dir", os.TempDir(), "where what they store is put, and removed again")
		flags.IntVar(&c.rounds, "rounds", 3, "of each but the slowest; the one with the median pace is reported")
		flags.IntVar(&c.limit, "limit", 35, "seconds after which a crawler is stopped, and what it did until then counts")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *hosts < 1 || *hosts > maxHosts || *pages < *hosts {
		return fmt.Errorf("%d hosts with %d pages: want 1 to %d, and a page or more for each", *hosts, *pages, maxHosts)
	}
	if *foreign < 0 || *foreign > maxForeign {
		return fmt.Errorf("%d links to other hosts: want 0 to %d", *foreign, maxForeign)
	}
	c.web = newWeb(*seed, *hosts, *pages, *foreign, *port)
	c.web.latency = *latency
	debug.SetGCPercent(400)
	runtime.GC()
	if err := c.web.listen(); err != nil {
		return err
	}
	switch name {
	case "run":
		return c.run()
	case "serve":
		for _, seed := range c.web.seeds() {
			fmt.Println(seed)
		}
		select {}
	}
	return fmt.Errorf("unknown command %q: want run, known, growth or serve", name)
}
