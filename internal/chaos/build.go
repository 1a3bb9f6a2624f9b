//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// wallStep is a file of package time in the builds under trial. The machine's clock cannot be set for one process. So
// these builds add the number in a file to every reading of the wall clock. The monotonic clock does not change.
const wallStep = `package time

import (
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

var (
	wallOnce sync.Once
	wallAt   *int64
)

func wallStep() int64 {
	wallOnce.Do(func() {
		name, ok := syscall.Getenv("` + wallFile + `")
		if !ok {
			return
		}
		fd, err := syscall.Open(name, syscall.O_RDONLY, 0)
		if err != nil {
			return
		}
		data, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
		if err == nil {
			wallAt = (*int64)(unsafe.Pointer(&data[0]))
		}
	})
	if wallAt == nil {
		return 0
	}
	return atomic.LoadInt64(wallAt)
}
`

// wallFile is the variable that names the file: seconds, in eight bytes of the machine's byte order.
const wallFile = "FRESHET_WALL_STEP"

const (
	readWall  = "sec, nsec, mono := runtimeNow()\n"
	stepsWall = readWall + "\tsec += wallStep()\n"
)

// overlay writes the overlay of package time for go build.
func overlay(dir string) (file string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	at := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(at, "time.go"))
	if err != nil {
		return "", err
	}
	before, after, found := strings.Cut(string(source), "func Now() Time {\n")
	changed := strings.Replace(after, readWall, stepsWall, 1)
	if !found || changed == after {
		return "", errors.New("package time reads the clock in an unknown way: see wallStep")
	}
	files := map[string]string{"time.go": before + "func Now() Time {\n" + changed, "wallstep.go": wallStep}
	replace := map[string]string{}
	for name, text := range files {
		replace[filepath.Join(at, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, raw, 0o600)
}

// programs returns the two builds for upgrades of nodes: of this tree, and of an earlier commit.
func programs(dir string) [2]string {
	return [2]string{filepath.Join(dir, "freshet-0"), filepath.Join(dir, "freshet-1")}
}

// build makes both builds.
func build(dir, previous string) error {
	over, err := overlay(dir)
	if err != nil {
		return err
	}
	earlier := filepath.Join(dir, "earlier")
	if err := os.MkdirAll(earlier, 0o755); err != nil {
		return err
	}
	archive := exec.Command("sh", "-c", `git archive "$0" | tar -x -C "$1"`, previous, earlier)
	if out, err := archive.CombinedOutput(); err != nil {
		return fmt.Errorf("the tree of %s: %w: %s", previous, err, out)
	}
	trees := []string{".", earlier}
	for i, program := range programs(dir) {
		cmd := exec.Command("go", "build", "-C", trees[i], "-trimpath", "-buildvcs=false", "-overlay", over, "-o", program, "./cmd/freshet")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w: %s", trees[i], err, out)
		}
	}
	return os.RemoveAll(earlier)
}
