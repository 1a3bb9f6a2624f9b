package command

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

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
// it.
func WriteFile(file string, write func(io.Writer) error) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
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
	buffered := bufio.NewWriterSize(temp, 1<<20)
	if err := write(buffered); err != nil {
		return err
	}
	if err := errors.Join(buffered.Flush(), temp.Chmod(0o644), temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}
