package memory

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// Bounds of the default budget.
const (
	least   = 256 << 20 // if the machine has as much
	largest = 4 << 30   // a crawl in one process does not gain from more
	unknown = 1 << 30   // if the memory of the machine is not known
)

// Default returns a budget for this machine, in bytes: half of the memory of the machine or of the process's cgroup. It
// is at least 256 MiB and at most 4 GiB, but never more than seven eighths of that memory.
func Default() int64 { return defaultOf(os.DirFS("/")) }

func defaultOf(root fs.FS) int64 {
	limit := Limit(root)
	if limit == 0 {
		return unknown
	}
	return min(max(limit/2, least), largest, limit/8*7)
}

// Check returns an error if a budget of that many bytes exceeds the memory of the machine or of the process's
// cgroup.
func Check(bytes int64) error { return checkOf(os.DirFS("/"), bytes) }

func checkOf(root fs.FS, bytes int64) error {
	limit := Limit(root)
	if limit == 0 || bytes <= limit {
		return nil
	}
	const mib = 1 << 20
	return fmt.Errorf("a memory budget of %d MiB: the machine or its cgroup has %d MiB; give at most %d MiB", bytes/mib, limit/mib, limit/8*7/mib)
}

// Limit returns how many bytes of memory this process may use. root holds the files of the machine. The result is the
// installed memory or the smallest limit of the process's cgroups, of either version; 0 if no file says.
func Limit(root fs.FS) int64 {
	limit := installed(root)
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range bytes.Lines(groups) {
		_, rest, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch {
		case controllers == "":
			limit = smaller(limit, limitOf(root, "sys/fs/cgroup", group, "memory.max"))
			limit = smaller(limit, limitOf(root, "sys/fs/cgroup/unified", group, "memory.max"))
		case strings.Contains(","+controllers+",", ",memory,"):
			limit = smaller(limit, limitOf(root, "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"))
		}
	}
	return limit
}

// installed returns the installed memory of the machine.
func installed(root fs.FS) int64 {
	file, err := root.Open("proc/meminfo")
	if err != nil {
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemTotal:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// limitOf returns the smallest limit of a group and the groups above it, 0 if none has one. In a container, the folder
// of the group may not be visible. The root of the mount is then the group's own.
func limitOf(root fs.FS, mount, group, file string) (limit int64) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		text, err := fs.ReadFile(root, path.Join(mount, group, file))
		if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil {
			limit = smaller(limit, n)
		}
		if group == "/" {
			return limit
		}
	}
}

// smaller returns the smaller of two limits. 0 means no limit.
func smaller(a, b int64) int64 {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}
