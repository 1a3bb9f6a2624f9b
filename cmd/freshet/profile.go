package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"runtime/trace"

	"github.com/spf13/cobra"

	"freshet/cmd/freshet/command"
)

// profiled adds the flags --cpuprofile and --trace to a long-running command. They write profiles for go tool pprof
// and go tool trace. They are not settings: no variable or file sets them.
func profiled(cmd *cobra.Command) *cobra.Command {
	var profile, events string
	cmd.Flags().StringVar(&profile, "cpuprofile", "", "write a profile of the processor's time, for go tool pprof")
	cmd.Flags().StringVar(&events, "trace", "", "write an execution trace, for go tool trace")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		for _, r := range []struct {
			flag, file string
			start      func(*os.File) error
			stop       func()
		}{
			{"cpuprofile", profile, func(f *os.File) error { return pprof.StartCPUProfile(f) }, pprof.StopCPUProfile},
			{"trace", events, func(f *os.File) error { return trace.Start(f) }, trace.Stop},
		} {
			if r.file == "" {
				continue
			}
			f, failed := os.Create(r.file)
			if failed == nil {
				failed = r.start(f)
			}
			if failed != nil {
				return command.Usage(fmt.Errorf("--%s: %w", r.flag, failed))
			}
			defer func() {
				r.stop()
				err = errors.Join(err, f.Close())
			}()
		}
		return run(cmd, args)
	}
	return cmd
}
