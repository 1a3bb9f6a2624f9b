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

// Directory is a node's data directory. It stays with one cluster.
type Directory struct {
	fs   vfs.FS
	path string
	its  identity
}

// identity is the content of cluster.json in a data directory.
type identity struct {
	Cluster  string `json:"cluster"`
	ID       string `json:"id,omitempty"` // of the cluster
	Instance string `json:"instance"`     // unique to the directory
}

// OpenDirectory reads which cluster a data directory belongs to, and writes it to a new one. It returns ErrOther if
// the directory belongs to a cluster with another name.
func OpenDirectory(fsys vfs.FS, path, cluster string) (*Directory, error) {
	if err := fsys.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	d := &Directory{fs: fsys, path: path}
	switch raw, err := readFile(fsys, d.file()); {
	case errors.Is(err, fs.ErrNotExist):
		d.its = identity{Cluster: cluster, Instance: rand.Text()}
		return d, d.write()
	case err != nil:
		return nil, fmt.Errorf("cluster: %w", err)
	default:
		if err := json.Unmarshal(raw, &d.its); err != nil || d.its.Instance == "" {
			return nil, fmt.Errorf("cluster: %s cannot be read: remove it, if no other node has the name", d.file())
		}
	}
	if d.its.Cluster != cluster {
		return nil, fmt.Errorf("%w: %s belongs to cluster %s, not %s: give --cluster %[3]s, or another --data", ErrOther, path, d.its.Cluster, cluster)
	}
	return d, nil
}

func (d *Directory) file() string { return d.fs.PathJoin(d.path, "cluster.json") }

func (d *Directory) write() error {
	raw, err := json.Marshal(d.its)
	if err == nil {
		err = writeFile(d.fs, d.path, d.file(), append(raw, '\n'))
	}
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// bind checks that the directory belongs to the cluster with that ID. A new directory becomes the cluster's.
func (d *Directory) bind(id string) error {
	switch d.its.ID {
	case id:
		return nil
	case "":
		d.its.ID = id
		return d.write()
	}
	return fmt.Errorf("%w: %s belongs to another cluster that is called %s: give the --nats servers of that one, or another --data",
		ErrOther, d.path, d.its.Cluster)
}

func readFile(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, 1<<16))
	return raw, errors.Join(err, f.Close())
}

// writeFile writes a file atomically.
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
