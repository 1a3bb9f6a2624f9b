package command

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInterruptedWrite interrupts a process in the middle of a file, and of a folder for it: nothing is left of them,
// and a file from before stays as it was.
func TestInterruptedWrite(t *testing.T) {
	if dir := os.Getenv("FRESHET_TEST_WRITES_IN"); dir != "" {
		t.Error(WriteFile(filepath.Join(dir, "file"), func(w io.Writer) error {
			folder := filepath.Join(dir, "folder")
			defer Unfinished(folder)()
			if err := os.MkdirAll(filepath.Join(folder, "below"), 0o755); err != nil {
				return err
			}
			fmt.Fprintln(w, "half of it")
			fmt.Println("writing")
			select {} // until the interrupt
		}))
		return
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	writer := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInterruptedWrite$")
	writer.Env = append(os.Environ(), "FRESHET_TEST_WRITES_IN="+dir)
	var said strings.Builder
	writer.Stderr = &said
	out, err := writer.StdoutPipe()
	if err == nil {
		err = writer.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("writing\n"))); err != nil {
		t.Fatal(err)
	}
	if err := writer.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = writer.Wait() // the exit code says it
	if code := writer.ProcessState.ExitCode(); code != ExitInterrupted || !strings.Contains(said.String(), "interrupted") {
		t.Errorf("exit code %d, want %d; it says %q", code, ExitInterrupted, said.String())
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v: want the old file alone", left, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "file")); string(text) != "old" || err != nil {
		t.Errorf("the old file is %q, %v", text, err)
	}
}
