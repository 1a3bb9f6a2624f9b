package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/spf13/cobra"

	"freshet/cmd/freshet/command"
	"freshet/lab/broder/cache"
	"freshet/seen/trace"
	"freshet/weburl"
)

// A seenOutcome is the output of the command.
type seenOutcome struct {
	Requests int64   `json:"requests"`
	Hits     int64   `json:"hits"`
	Misses   int64   `json:"misses"`
	MissRate float64 `json:"miss_rate"` // 0 of no requests
}

type seenOptions struct {
	trace, policy, preload string
	size                   int
	seed                   uint64
}

func seenCommand() *cobra.Command {
	var o seenOptions
	cmd := &cobra.Command{
		Use: "seen --trace FILE --policy NAME --size N", Short: "Replay a URL trace through a cache policy", Args: command.NoArgs,
		Long: "A small cache in front of the set of all known URLs can mostly tell whether a URL is known. This command\n" +
			"replays a trace through one policy, starting with an empty cache of N URLs, and counts hits and misses. A trace has\n" +
			"one URL per line, or it is a .u64 file of fingerprints (8 bytes each, little endian); both may be .gz or .zst.\n" +
			"crawl --record-trace writes one.\n" +
			"\n" +
			"  clock      second chance, as in textbooks\n" +
			"  clock-set  the same in sets of 8 that fill a line of the processor's cache (N is rounded up to whole sets)\n" +
			"  lru        removes the least recently used\n" +
			"  random     removes any\n" +
			"  static     keeps the N most requested of the trace, or of --preload; it starts full, at no cost\n" +
			"  min        removes the one whose next use is farthest away: no policy misses less\n" +
			"  infinite   removes none\n" +
			"  sieve, s3-fifo, w-tinylfu  as published in 2024, 2023 and 2017",
		Example: "  freshet seen --trace urls.txt.gz --policy clock --size 65536\n" +
			"  freshet crawl http://localhost:8080/ --record-trace links.u64 && freshet seen --trace links.u64 --policy min --size 1024",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(cmd.Flags().Changed("size")); err != nil {
				return command.Usage(err)
			}
			outcome, err := o.replay(cmd.InOrStdin())
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(outcome)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.trace, "trace", "", "file of URLs or fingerprints, - for URLs on standard input (required)")
	f.StringVar(&o.policy, "policy", "", strings.Join(cache.Names(), ", ")+" (required)")
	f.IntVar(&o.size, "size", 0, "URLs that the cache holds (required, but for infinite)")
	f.StringVar(&o.preload, "preload", "", "trace of an earlier crawl, of which static holds the most requested")
	f.Uint64Var(&o.seed, "seed", 1, "seed of random")
	f.Bool("json", true, "print JSON; there is no other form")
	return cmd
}

// validate returns an error if flags are missing or invalid.
func (o *seenOptions) validate(sized bool) error {
	var faults []error
	if o.trace == "" {
		faults = append(faults, errors.New("--trace is needed"))
	}
	if o.policy == "" {
		faults = append(faults, errors.New("--policy is needed"))
	}
	if !sized && o.policy == "infinite" {
		o.size = 1
	} else if !sized {
		faults = append(faults, errors.New("--size is needed"))
	}
	if o.preload != "" && o.policy != "static" {
		faults = append(faults, fmt.Errorf("--preload with --policy %s: only static has a use for it", o.policy))
	}
	if len(faults) == 0 {
		_, err := cache.New(o.policy, min(o.size, 1), nil, nil)
		if err != nil {
			faults = append(faults, err)
		} else if o.size > cache.MaxSize {
			faults = append(faults, fmt.Errorf("--size %d: want 1 to %d", o.size, cache.MaxSize))
		}
	}
	return errors.Join(faults...)
}

// replay counts hits and misses. It holds the trace in memory only for a policy that must know the future.
func (o *seenOptions) replay(stdin io.Reader) (outcome seenOutcome, err error) {
	var known []weburl.Fingerprint
	from := o.trace
	if o.preload != "" {
		from = o.preload
	}
	if cache.Offline(o.policy) {
		if known, err = readTrace(from, stdin); err != nil {
			return outcome, err
		}
	}
	policy, err := cache.New(o.policy, o.size, known, rand.New(rand.NewPCG(o.seed, 0)))
	if err != nil {
		return outcome, err
	}
	count := func(fp weburl.Fingerprint) {
		outcome.Requests++
		if _, hit := policy.Touch(fp); hit {
			outcome.Hits++
		} else {
			outcome.Misses++
		}
	}
	if from == o.trace && known != nil {
		for _, fp := range known {
			count(fp)
		}
	} else if err := eachRequest(o.trace, stdin, count); err != nil {
		return outcome, err
	}
	if outcome.Requests > 0 {
		outcome.MissRate = float64(outcome.Misses) / float64(outcome.Requests)
	}
	return outcome, nil
}

// readTrace returns all requests of a trace.
func readTrace(name string, stdin io.Reader) (all []weburl.Fingerprint, err error) {
	err = eachRequest(name, stdin, func(fp weburl.Fingerprint) { all = append(all, fp) })
	return all, err
}

// eachRequest calls request for every request of the trace in a file, or on standard input for "-".
func eachRequest(name string, stdin io.Reader, request func(weburl.Fingerprint)) error {
	open := func() (*trace.Reader, error) { return trace.Open(name) }
	if name == "-" {
		open = func() (*trace.Reader, error) { return trace.NewReader(stdin, "standard input") }
	}
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		fp, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		request(fp)
	}
}
