package store

import (
	"fmt"
	"os"

	"freshet/store/internal/database"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Room returns an ErrDiskFull if the disk of a directory has no room for so many bytes beside what the database needs
// to work. Where the disk does not tell, there is room.
func Room(fsys vfs.FS, path string, bytes int64) error {
	usage, err := fsys.GetDiskUsage(path)
	if want := uint64(database.LeastFree + bytes); err == nil && usage.AvailBytes < want {
		const mib = 1 << 20
		return fmt.Errorf("store: %s: %d MiB of the disk are free: want %d MiB: %w", path, usage.AvailBytes/mib, (want+mib-1)/mib, ErrDiskFull)
	}
	return nil
}

// DiskFree returns how many bytes of the store's disk are free; 0 if the disk does not tell.
func (s *Store) DiskFree() int64 {
	usage, err := s.fs.GetDiskUsage(s.dir.path)
	if err != nil {
		return 0
	}
	return int64(usage.AvailBytes)
}

// SizeOf returns how many bytes the files of a folder have, without those of folders in it.
func SizeOf(fsys vfs.FS, path string) (sum int64) {
	names, _ := fsys.List(path) // a folder that is not there has none
	for _, name := range names {
		if info, err := fsys.Stat(fsys.PathJoin(path, name)); err == nil && !info.IsDir() {
			sum += info.Size()
		}
	}
	return sum
}

// keepPrivate lets only its owner into a data directory, whatever the umask, so that nobody else can open a file in it.
// A directory that everybody may write to, such as /tmp, and one of another owner stay as they are.
func keepPrivate(fsys vfs.FS, path string) {
	if vfs.Root(fsys) != vfs.Default {
		return
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 && info.Mode()&os.ModeSticky == 0 {
		_ = os.Chmod(path, info.Mode().Perm()&0o700)
	}
}
