// Command fetch fetches the real sites, unless they are there, and records their webs for the lab.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"freshet/internal/sites"
	"freshet/internal/sites/recorded"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := sites.Directory()
	if err != nil {
		return err
	}
	all, err := sites.Install(ctx, dir, sites.Names()...)
	if err != nil {
		return err
	}
	if err := recorded.Write(ctx, dir, all); err != nil {
		return err
	}
	fmt.Println(dir)
	return nil
}
