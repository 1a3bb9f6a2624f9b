//go:build unix

package command

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// says writes a line.
func says(w io.Writer) error {
	_, err := io.WriteString(w, "said\n")
	return err
}

func TestWriteFileIntoPipe(t *testing.T) {
	for _, linked := range []bool{false, true} {
		pipe := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		target := pipe
		if linked {
			target += "-link"
			if err := os.Symlink(pipe, target); err != nil {
				t.Fatal(err)
			}
		}
		reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that neither side waits for the other
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		if err := WriteFile(target, says); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			t.Fatalf("the pipe became %v, %v", info.Mode(), err)
		}
		got := make([]byte, 5)
		if _, err := io.ReadFull(reader, got); err != nil || string(got) != "said\n" {
			t.Errorf("the pipe has %q, %v", got, err)
		}
	}
}

// A link to a descriptor, as /dev/stdout is, leads to a pipe that has no path.
func TestWriteFileIntoDescriptor(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	link := filepath.Join(t.TempDir(), "stdout")
	if err := os.Symlink(filepath.Join("/dev/fd", strconv.Itoa(int(writer.Fd()))), link); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(link, says); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	if got, err := io.ReadAll(reader); err != nil || string(got) != "said\n" {
		t.Errorf("the pipe has %q, %v", got, err)
	}
}

func TestWriteFileIntoFullDevice(t *testing.T) {
	info, err := os.Stat("/dev/full")
	if err != nil || info.Mode()&os.ModeDevice == 0 {
		t.Skip("no /dev/full")
	}
	link := filepath.Join(t.TempDir(), "full") // the device is not at stake
	if err := os.Symlink("/dev/full", link); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(link, says); err == nil {
		t.Error("a full device took it")
	}
}

func TestWriteFileKeepsLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target", link); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(link, says); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	if got, err := os.ReadFile(target); err != nil || string(got) != "said\n" {
		t.Errorf("the target has %q, %v", got, err)
	}
}

func TestWriteFileObeysUmask(t *testing.T) {
	before := syscall.Umask(0o077)
	defer syscall.Umask(before)
	file := filepath.Join(t.TempDir(), "file")
	if err := WriteFile(file, says); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("the mode is %v, %v: want 0600", info.Mode(), err)
	}
}

// A folder is refused before any work is done.
func TestWriteFileRefusesFolder(t *testing.T) {
	dir := t.TempDir()
	err := WriteFile(dir, func(io.Writer) error {
		t.Error("it was written")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "is a directory") || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
}
