package sink

import (
	"crypto/rand"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/feed"
)

// Origin returns the name of the source of a sink's changes: letters and digits that are drawn once and kept in the
// sink's folder, which Origin makes if absent. Positions can be compared among changes of one origin.
func Origin(fs vfs.FS, dir string) (string, error) {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("sink: %w", err)
	}
	file := fs.PathJoin(dir, "origin")
	name, err := feed.ReadKept(fs, file)
	if err == nil && name == "" {
		name = rand.Text()
		err = feed.WriteKept(fs, file, name)
	}
	if err != nil {
		return "", fmt.Errorf("sink: %w", err)
	}
	return name, nil
}
