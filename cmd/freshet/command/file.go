package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// ReadFile reads a whole file, or in for "-".
func ReadFile(file string, in io.Reader) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(file)
}

// WriteTo lets write fill a file, or standard output for "-".
func WriteTo(file string, stdout io.Writer, write func(io.Writer) error) error {
	if file == "-" {
		return write(stdout)
	}
	return WriteFile(file, write)
}

// Beside returns where a command says what it did when it writes its result by WriteTo: standard
// output, or standard error if the result goes there.
func Beside(cmd *cobra.Command, file string) io.Writer {
	if file == "-" {
		return cmd.ErrOrStderr()
	}
	return cmd.OutOrStdout()
}

// WriteFile lets write fill a file that appears under its name only when it is whole. An interrupt leaves nothing of
// it. The umask decides its mode. A link stays, and its target is written. A device or a pipe is written as it is.
func WriteFile(file string, write func(io.Writer) error) (err error) {
	switch info, err := os.Stat(file); {
	case err != nil: // there is none yet
	case info.IsDir():
		return &fs.PathError{Op: "write", Path: file, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		return writeInto(file, write)
	}
	whole := file
	if target, err := filepath.EvalSymlinks(file); err == nil {
		whole = target
	}
	temp, err := unfinishedFile(whole)
	if fault, ok := errors.AsType[*fs.PathError](err); ok {
		fault.Path = file // no word of a name that nobody has typed
	}
	if err != nil {
		return err
	}
	defer Unfinished(temp.Name())()
	defer func() {
		if err != nil {
			temp.Close()
			os.Remove(temp.Name())
		}
	}()
	if err := fill(temp, write); err != nil {
		return err
	}
	if err := errors.Join(temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), whole)
}

// unfinishedFile creates a file beside another. os.CreateTemp does not ask the umask.
func unfinishedFile(file string) (*os.File, error) {
	for n := 1; ; n++ {
		temp, err := os.OpenFile(fmt.Sprintf("%s.%d", file, n), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return temp, err
		}
	}
}

// writeInto lets write fill what is no regular file.
func writeInto(file string, write func(io.Writer) error) error {
	out, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(fill(out, write), out.Close())
}

// fill lets write fill an open file, with a buffer.
func fill(file *os.File, write func(io.Writer) error) error {
	buffered := bufio.NewWriterSize(file, 1<<20)
	if err := write(buffered); err != nil {
		return err
	}
	return buffered.Flush()
}
