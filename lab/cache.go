package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNoData is what an experiment fails with, wrapped, whose data is not there, such as a file that
// has to be fetched first. A report says so and goes on.
var ErrNoData = errors.New("data that is not there")

// Cache keeps results in a folder, a file each, by experiment and parameters.
type Cache struct {
	Dir string
	// Version stands for the program that measures: what another version found is not used.
	Version string
}

// Load returns the result of a trial with the parameters that it has, if one is kept. A file that
// cannot be read as a result is as good as none.
func (c Cache) Load(t *Trial) (*Result, bool) {
	text, err := os.ReadFile(c.file(t))
	if err != nil {
		return nil, false
	}
	result := new(Result)
	if json.Unmarshal(text, result) != nil || result.Experiment != t.experiment.Name {
		return nil, false
	}
	return result, true
}

// Store keeps the result of a trial. A write that is cut short leaves what was there before.
func (c Cache) Store(t *Trial, result *Result) error {
	text, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	if err := os.MkdirAll(c.Dir, 0o777); err != nil {
		return err
	}
	name := c.file(t)
	if err := os.WriteFile(name+".new", text, 0o666); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// file returns the name of a trial's file. A parameter that names a file stands for its size and time
// too.
func (c Cache) file(t *Trial) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", c.Version)
	for _, f := range t.Parameters() {
		fmt.Fprintf(h, "%s=%v\n", f.Name, f.Value)
		if info := fileOf(f.Value); info != nil {
			fmt.Fprintf(h, "%d %v\n", info.Size(), info.ModTime())
		}
	}
	return filepath.Join(c.Dir, t.experiment.Name+"-"+hex.EncodeToString(h.Sum(nil)[:8])+".json")
}

// fileOf returns what a value that names a file says of it, else nil.
func fileOf(value any) fs.FileInfo {
	name, ok := value.(string)
	if !ok || name == "" {
		return nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil
	}
	return info
}
