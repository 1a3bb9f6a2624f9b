package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"freshet/cmd/freshet/command"
	"freshet/weburl"
)

// TestWeightsSetting holds the weight that each kind of --weights gives a page that it knows and a page that it does
// not.
func TestWeightsSetting(t *testing.T) {
	dir := t.TempDir()
	table, log, empty := filepath.Join(dir, "weights.csv"), filepath.Join(dir, "log.csv"), filepath.Join(dir, "empty.csv")
	put(t, table, "url,weight\nhttp://a.test/,7\n")
	put(t, log, "query,url,page,position,clicked,changed,answer\nq,http://a.test/,1,1,1,1,wrong\nq,http://b.test/,1,2,0,1,\n")
	timed, late := filepath.Join(dir, "timed.csv"), filepath.Join(dir, "late.csv")
	put(t, timed, "time,query,url,page,position,clicked,changed,answer\n2026-01-31T00:00:00Z,q,http://a.test/,1,1,1,1,wrong\n1769860800,r,http://a.test/,1,1,1,1,wrong\n")
	put(t, late, "time,query,url\nlate,q,http://a.test/\n")
	put(t, empty, "query,url\n")
	tests := []struct {
		name, weights string
		a, other      float64 // 0: no weights
		embarrassment float64
		rank, reweigh time.Duration
		fault         string
	}{
		{name: "uniform", weights: "uniform"},
		{name: "pagerank", weights: "pagerank", rank: 6 * time.Hour},
		{name: "a table", weights: table, a: 7, other: 1},
		// (5/6 · 5/9) and (3/4 · 1/2) by the mean, 43/108
		{name: "clicks", weights: "clicks:" + log, a: 1.1628, other: 0.9419, embarrassment: 0.3981},
		// 2 in half a day
		{name: "clicks with times", weights: "clicks:" + timed, a: 1, other: 0.9091, embarrassment: 4 * 11.0 / 12 * 23 / 24},
		{name: "a time that is none", weights: "clicks:" + late, fault: `late.csv:2:1: time "late": want one such as`},
		{name: "no clicks", weights: "clicks:" + empty, a: 1, other: 1},
		{name: "clicks of the own search", weights: "clicks", reweigh: 6 * time.Hour},
		{name: "no file", weights: "clicks:" + filepath.Join(dir, "none"), fault: "no such file"},
		{name: "a log for a table", weights: log, fault: `log.csv:1:1: unknown column "query"`},
		{name: "standard input", weights: "-", fault: "standard input is not read here"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := refreshSettings{on: true, budget: 1, interval: command.Duration(6 * time.Hour), policy: "default", weights: test.weights}
			o, err := s.options()
			if test.fault != "" || err != nil {
				if err == nil || test.fault == "" || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("error %v, want %q", err, test.fault)
				}
				return
			}
			if math.Abs(o.Embarrassment-test.embarrassment) > 1e-4 {
				t.Errorf("a stale copy of weight 1 embarrasses %v queries a day, want %v", o.Embarrassment, test.embarrassment)
			}
			if o.Rank != test.rank || o.Reweigh != test.reweigh || (o.Weight == nil) != (test.a == 0) {
				t.Fatalf("rank %v, weights %v", o.Rank, o.Weight != nil)
			}
			if test.a == 0 {
				return
			}
			for raw, want := range map[string]float64{"http://a.test/": test.a, "http://c.test/": test.other} {
				u, err := weburl.Parse(raw)
				if err != nil {
					t.Fatal(err)
				}
				if got := o.Weight(u); math.Abs(got-want) > 1e-4 {
					t.Errorf("%s weighs %v, want %v", raw, got, want)
				}
			}
		})
	}
}
