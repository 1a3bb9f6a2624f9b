//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// result is the result of a trial, a line of a file.
type result struct {
	Seed     uint64  `json:"seed"`
	Error    string  `json:"error,omitempty"` // empty: the cluster holds
	Events   []event `json:"events"`
	Requests int     `json:"requests,omitempty"`
	Pages    int     `json:"pages,omitempty"`
	Versions int     `json:"versions,omitempty"`
	Taken    int     `json:"taken,omitempty"` // how often a node took a partition
}

// event is a fault, and how long it took until all was well.
type event struct {
	Kind   string  `json:"kind"`
	Victim string  `json:"victim"`
	Pause  float64 `json:"pause_s"` // the longest time without a request to a host, from the fault's beginning on
	Well   float64 `json:"well_s"`  // from the fault's end until all was well
}

// append adds the result to a file, if it has a name.
func (r result) append(file string, failed error) error {
	if file == "" {
		return nil
	}
	if failed != nil {
		r.Error = failed.Error()
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	return err
}

// sumUp prints a summary of the trials of a file. It counts events only of trials whose cluster was judged and holds.
func sumUp(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var all result
	held, failed := 0, 0
	for line := range bytes.Lines(raw) {
		var r result
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if r.Error != "" {
			fmt.Printf("seed %d, %d events: %s\n", r.Seed, len(r.Events), r.Error)
			failed++
			continue
		}
		held++
		all.Events = append(all.Events, r.Events...)
		all.Requests, all.Versions, all.Taken = all.Requests+r.Requests, all.Versions+r.Versions, all.Taken+r.Taken
	}
	fmt.Printf("%d trials hold, %d do not; %d events, %d requests, %d versions, partitions taken %d times\n\n",
		held, failed, len(all.Events), all.Requests, all.Versions, all.Taken)
	tabulate(all.Events)
	return nil
}

// tabulate prints how long recoveries took, by kind of fault.
func tabulate(all []event) {
	fmt.Println("| fault | events | a host was not asked for: median, p90, max | all is well after: median, p90, max |")
	fmt.Println("| --- | --- | --- | --- |")
	for _, f := range faults {
		var pauses, wells []float64
		for _, e := range all {
			if e.Kind == f.kind {
				pauses, wells = append(pauses, e.Pause), append(wells, e.Well)
			}
		}
		if len(pauses) > 0 {
			fmt.Printf("| %s | %d | %s | %s |\n", f.kind, len(pauses), spread(pauses), spread(wells))
		}
	}
}

// spread formats the median, the 90th percentile and the largest of times in seconds.
func spread(all []float64) string {
	slices.Sort(all)
	at := func(share float64) float64 { return all[int(share*float64(len(all)-1)+0.5)] }
	return fmt.Sprintf("%.0f s, %.0f s, %.0f s", at(.5), at(.9), at(1))
}
