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

// ErrNoData is wrapped by the error of an experiment whose data is missing, for example a file that must be fetched
// first. A report notes it and continues.
var ErrNoData = errors.New("data is missing")

// Cache keeps results in a folder, a file each, by experiment and parameters.
type Cache struct {
	Dir string
	// Version identifies the program that measures. Results of other versions are not used.
	Version string
}

// Load returns the kept result of a trial with its present parameters. It returns false if there is none, or if the
// file is not a readable result.
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

// Store keeps the result of a trial. If the write fails, an earlier result stays.
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

// file returns the name of a trial's file. If a parameter names a file, that file's size and time count too.
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

// fileOf returns the information on the file that value names, or nil.
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
