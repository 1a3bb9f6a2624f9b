package cluster

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Directory is a node's data directory. It stays with one cluster.
type Directory struct {
	fs   vfs.FS
	path string
	its  identity
	old  bool // an older version wrote the file, without a checksum
}

// identity is the content of cluster.json in a data directory.
type identity struct {
	Cluster  string `json:"cluster"`
	ID       string `json:"id,omitempty"` // of the cluster
	Instance string `json:"instance"`     // unique to the directory
}

// kept is cluster.json: an identity with a checksum, so that a damaged file is not taken for that of another cluster.
type kept struct {
	identity
	Sum string `json:"sum,omitempty"` // CRC-32C of the identity; empty: an older version wrote the file
}

func (i identity) sum() string {
	return fmt.Sprintf("%08x", crc32.Checksum(fmt.Appendf(nil, "%q %q %q", i.Cluster, i.ID, i.Instance), crc32.MakeTable(crc32.Castagnoli)))
}

// readIdentity reads cluster.json.
func readIdentity(fsys vfs.FS, file string) (its kept, err error) {
	raw, err := readFile(fsys, file)
	if err != nil {
		return its, fmt.Errorf("cluster: %w", err)
	}
	if err := json.Unmarshal(raw, &its); err != nil || its.Instance == "" || its.Sum != "" && its.Sum != its.sum() {
		return its, fmt.Errorf("%w: %s: remove it, if no other node has the name", ErrDamaged, file)
	}
	return its, nil
}

// ErrDamaged means that the file that says to which cluster a directory belongs cannot be used.
var ErrDamaged = errors.New("cluster: damaged")

// CheckDirectory returns ErrDamaged if the directory's cluster.json is damaged. A directory without one is well.
func CheckDirectory(fsys vfs.FS, path string) error {
	d := &Directory{fs: fsys, path: path}
	if _, err := readIdentity(fsys, d.file()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// OpenDirectory reads which cluster a data directory belongs to, and writes it to a new one. It returns ErrOther if
// the directory belongs to a cluster with another name, and ErrDamaged.
func OpenDirectory(fsys vfs.FS, path, cluster string) (*Directory, error) {
	if err := fsys.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	d := &Directory{fs: fsys, path: path}
	its, err := readIdentity(fsys, d.file())
	if errors.Is(err, fs.ErrNotExist) {
		d.its = identity{Cluster: cluster, Instance: rand.Text()}
		return d, d.write()
	} else if err != nil {
		return nil, err
	}
	d.its, d.old = its.identity, its.Sum == ""
	if d.its.Cluster != cluster {
		return nil, fmt.Errorf("%w: %s belongs to cluster %s, not %s: give --cluster %[3]s, or another --data", ErrOther, path, d.its.Cluster, cluster)
	}
	return d, nil
}

func (d *Directory) file() string { return d.fs.PathJoin(d.path, "cluster.json") }

func (d *Directory) write() error {
	raw, err := json.Marshal(kept{d.its, d.its.sum()})
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
		if d.old {
			return d.write()
		}
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
