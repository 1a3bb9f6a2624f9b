package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroup is a memory cgroup for one process, of version 1 or 2. nil is no cgroup.
type cgroup struct {
	dir     string
	version int
}

// newCgroup makes a cgroup with a limit. The error says why if that is not allowed.
func newCgroup(limit int64) (*cgroup, error) {
	name := fmt.Sprintf("freshet-adversary-%d", os.Getpid())
	two, one := "/sys/fs/cgroup/cgroup.controllers", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
	g := &cgroup{dir: "/sys/fs/cgroup/" + name, version: 2}
	maximum := "memory.max"
	if _, err := os.Stat(two); err != nil {
		if _, err := os.Stat(one); err != nil {
			return nil, errors.New("the machine has no memory cgroups")
		}
		g = &cgroup{dir: "/sys/fs/cgroup/memory/" + name, version: 1}
		maximum = "memory.limit_in_bytes"
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(g.dir, maximum), []byte(strconv.FormatInt(limit, 10)), 0o644); err != nil {
		return nil, errors.Join(err, g.remove())
	}
	_ = os.WriteFile(filepath.Join(g.dir, "memory.swap.max"), []byte("0"), 0o644) // absent where there is no swap
	return g, nil
}

// wrap makes a command start in the cgroup.
func (g *cgroup) wrap(c *exec.Cmd) {
	if g == nil {
		return
	}
	enter := "echo $$ > " + filepath.Join(g.dir, "cgroup.procs") + ` && exec "$@"`
	c.Args = append([]string{"sh", "-c", enter, "sh"}, c.Args...)
	c.Path = "/bin/sh"
}

// kills returns how often the kernel killed a process of the cgroup.
func (g *cgroup) kills() int64 {
	if g == nil {
		return 0
	}
	file := map[int]string{1: "memory.oom_control", 2: "memory.events"}[g.version]
	text, _ := os.ReadFile(filepath.Join(g.dir, file)) // without the file, the exit status shows a kill
	for line := range strings.Lines(string(text)) {
		if name, count, _ := strings.Cut(strings.TrimSpace(line), " "); name == "oom_kill" {
			n, _ := strconv.ParseInt(count, 10, 64)
			return n
		}
	}
	return 0
}

func (g *cgroup) remove() error {
	if g == nil {
		return nil
	}
	return os.Remove(g.dir)
}

// parseSize reads a size such as 400M, in powers of 1024.
func parseSize(text string) (int64, error) {
	trimmed := strings.TrimSuffix(strings.TrimSuffix(text, "B"), "i")
	shift := map[string]int{"K": 10, "M": 20, "G": 30}[trimmed[max(0, len(trimmed)-1):]]
	if shift > 0 {
		trimmed = trimmed[:len(trimmed)-1]
	}
	n, err := strconv.ParseInt(trimmed, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q: want a size such as 400M", text)
	}
	return n << shift, nil
}
