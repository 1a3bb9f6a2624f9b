package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The command refuses a file of ten gigabytes that is no table after the first megabytes. One file opens a quoted
// field and never closes it; another has no line ends.
func TestTenGigabytes(t *testing.T) {
	for _, test := range []struct {
		name, command, flag, begin, want string
		more                             []string
	}{
		{"pages, open quote", "plan", "--pages", "url,rate\na,1\n\"", "big.csv:3:1: a row of more than", []string{"--budget", "1"}},
		{"pages, no line ends", "plan", "--pages", "url,rate\na,", "big.csv:2:1: a row of more than", []string{"--budget", "1"}},
		{"tasks", "schedule", "--tasks", "id,time_s\n1,1\n\"2\n3\",1\n\"", "big.csv:5:1: a row of more than", []string{"--crawlers", "1x4"}},
		{"log", "weights", "--log", "query,url\nq,\"", "big.csv:2:1: a row of more than", nil},
		{"histories", "lab", "--histories", "site,page,alive,end,times\n\"", "big.csv: line 2 or after: a row of more than", []string{"--quiet"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "big.csv")
			put(t, file, test.begin)
			if err := os.Truncate(file, 10<<30); err != nil { // zeros that take no space
				t.Skipf("no file of this size here: %v", err)
			}
			args := []string{test.command}
			if test.command == "lab" {
				args = append(args, "run", "replay")
			}
			_, said := freshet(t, 1, append(append(args, test.flag, file), test.more...)...)
			if !strings.Contains(said, test.want) {
				t.Errorf("said %q, want %q in it", said, test.want)
			}
		})
	}
}
