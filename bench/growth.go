package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/pflag"

	"freshet/bench/growth"
	"freshet/lab"
)

// grow measures the URL-seen test as the known URLs grow, and prints a table.
func grow(args []string) error {
	trial := growth.Experiment().New()
	flags := pflag.NewFlagSet("growth", pflag.ExitOnError)
	flags.SortFlags = false
	flags.AddFlagSet(trial.Flags())
	asJSON := flags.Bool("json", false, "print one JSON object")
	plots := flags.String("plot", "", "write the plots to this SVG file, further ones to FILE-2.svg and so on")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	result, err := trial.Run(ctx, func(p lab.Progress) { fmt.Fprintf(os.Stderr, "\r%s\x1b[K", p) })
	fmt.Fprint(os.Stderr, "\r\x1b[K")
	if err != nil {
		return err
	}
	if err := lab.WritePlots(result.Plots, *plots); err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(os.Stdout).Encode(result)
	}
	return result.WriteTable(os.Stdout)
}
