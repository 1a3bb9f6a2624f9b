package store

import (
	"fmt"
	"os"

	"freshet/store/internal/database"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Room returns ErrDiskFull if the disk of a directory has no room for that many bytes in addition to what the
// database needs to work. If the free space is unknown, it returns nil.
func Room(fsys vfs.FS, path string, bytes int64) error {
	usage, err := fsys.GetDiskUsage(path)
	if want := uint64(database.LeastFree + bytes); err == nil && usage.AvailBytes < want {
		const mib = 1 << 20
		return fmt.Errorf("store: %s: %d MiB of the disk are free: want %d MiB: %w", path, usage.AvailBytes/mib, (want+mib-1)/mib, ErrDiskFull)
	}
	return nil
}

// DiskFree returns how many bytes of the store's disk are free; 0 if that is unknown.
func (s *Store) DiskFree() int64 {
	usage, err := s.fs.GetDiskUsage(s.dir.path)
	if err != nil {
		return 0
	}
	return int64(usage.AvailBytes)
}

// SizeOf returns the bytes of the files in a folder, without its subfolders.
func SizeOf(fsys vfs.FS, path string) (sum int64) {
	names, _ := fsys.List(path) // a missing folder has none
	for _, name := range names {
		if info, err := fsys.Stat(fsys.PathJoin(path, name)); err == nil && !info.IsDir() {
			sum += info.Size()
		}
	}
	return sum
}

// keepPrivate makes a data directory accessible to its owner only, whatever the umask. It does not change a
// directory that everybody may write to, such as /tmp, or one of another owner.
func keepPrivate(fsys vfs.FS, path string) {
	if vfs.Root(fsys) != vfs.Default {
		return
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 && info.Mode()&os.ModeSticky == 0 {
		_ = os.Chmod(path, info.Mode().Perm()&0o700)
	}
}
