package cluster

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// identity is the content of cluster.json in a data directory.
type identity struct {
	Cluster  string `json:"cluster"`
	Instance string `json:"instance"`
}

// Instance returns what tells a data directory from all others, and notes there, at the first time, which cluster it
// belongs to. It returns ErrOther if it belongs to another one.
func Instance(fsys vfs.FS, dir, cluster string) (string, error) {
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cluster: %w", err)
	}
	name := fsys.PathJoin(dir, "cluster.json")
	var had identity
	switch raw, err := readFile(fsys, name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("cluster: %w", err)
	default:
		if err := json.Unmarshal(raw, &had); err != nil || had.Instance == "" {
			return "", fmt.Errorf("cluster: %s cannot be read: remove it, if no other node has the name", name)
		}
		if had.Cluster != cluster {
			return "", fmt.Errorf("%w: %s belongs to cluster %s, not %s: give --cluster %[3]s, or another --data", ErrOther, dir, had.Cluster, cluster)
		}
		return had.Instance, nil
	}
	made := identity{cluster, rand.Text()}
	raw, err := json.Marshal(made)
	if err != nil {
		return "", fmt.Errorf("cluster: %w", err)
	}
	if err := writeFile(fsys, dir, name, append(raw, '\n')); err != nil {
		return "", fmt.Errorf("cluster: %w", err)
	}
	return made.Instance, nil
}

func readFile(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, 1<<16))
	return raw, errors.Join(err, f.Close())
}

// writeFile makes a file that is there whole or not at all.
func writeFile(fsys vfs.FS, dir, name string, raw []byte) error {
	f, err := fsys.Create(name+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(name+".new", name); err != nil {
		return err
	}
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
