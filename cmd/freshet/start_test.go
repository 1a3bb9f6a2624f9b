package main

import (
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// TestStartIsCheap holds that no package builds large tables when the program starts. Every command would pay for them.
func TestStartIsCheap(t *testing.T) {
	t.Setenv("GODEBUG", "inittrace=1")
	said, err := exec.CommandContext(t.Context(), "freshet", "version").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	const most = 4 << 20 // bytes
	traced := regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes`).FindAllSubmatch(said, -1)
	if len(traced) < 10 {
		t.Errorf("%d packages are traced:\n%s", len(traced), said)
	}
	for _, line := range traced {
		if bytes, _ := strconv.Atoi(string(line[2])); bytes > most {
			t.Errorf("%s allocates %d bytes when the program starts: want at most %d", line[1], bytes, most)
		}
	}
}
