package store

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"freshet/store/internal/format"
)

// topNames are the names that a data directory may contain. The name of a folder ends in a slash.
var topNames = []string{
	format.InfoFile, format.LockFile, format.BallastFile, format.OrdersFile, format.OrdersCopy, format.HighwaterFile,
	format.SegmentsFile, format.CacheDir + "/",
	format.DatabaseDir + "/", format.MendedDir + "/", format.CapturesDir + "/", format.AsideDir + "/", format.TempDir + "/",
	format.IndexDir + "/",
	// of the crawl and its daemon
	"seen/", "webhooks/", "sinks/", "queries/", "crawl.log", "crawl.log.old", "control.sock", "view.sock",
	"cluster.json", // of a node of a cluster
	"lost+found/",  // of the file system, if the directory is a mount point
}

// leftover reports whether a name is that of an unfinished file, which gets its final name when it is complete.
// Snapshots that older programs made under their process number are leftovers too.
func leftover(name string) bool {
	pid, is := strings.CutPrefix(strings.TrimSuffix(name, ".part"), "snapshot-")
	if n, err := strconv.Atoi(pid); is && err == nil && n > 0 && n <= maxPID && pid == strconv.Itoa(n) {
		return true
	}
	of, is := strings.CutSuffix(name, ".new")
	return is && slices.Contains([]string{format.InfoFile, format.OrdersFile, format.OrdersCopy, format.HighwaterFile, format.SegmentsFile, "crawl.log", "cluster.json"}, of)
}

// maxPID is the largest process number.
const maxPID = 1 << 22

// dropLeftovers deletes the unfinished files of processes that died. The caller holds the directory's lock.
func (s *Store) dropLeftovers() error {
	names, err := s.fs.List(s.dir.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !leftover(name) {
			continue
		}
		s.options.Logger.Warn("a leftover of a process that ended early is deleted", "name", name)
		if err := s.fs.RemoveAll(s.dir.join(name)); err != nil {
			return err
		}
	}
	return s.dropFolder(format.TempDir)
}

// DropCopies deletes the folders that may have copies of captures and rows that no row names, and the search
// indexes. To delete single pages from an index is not enough: Bleve marks them as deleted, and their text stays in the
// segment until it is merged, which may never happen to a large one.
func (in Inside) DropCopies() error {
	in.files.Lock()
	defer in.files.Unlock()
	return errors.Join(in.dropFolder(format.TempDir), in.dropFolder(format.AsideDir), in.DropIndexes())
}

// DropIndexes deletes the search indexes. Their owner builds them again.
func (in Inside) DropIndexes() error { return in.dropFolder(format.IndexDir) }

// dropFolder deletes a folder of the directory, durably, if it is there.
func (s *Store) dropFolder(name string) error {
	if _, err := s.fs.Stat(s.dir.join(name)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := s.fs.RemoveAll(s.dir.join(name)); err != nil {
		return err
	}
	return format.SyncDir(s.fs, s.dir.path)
}

// Strangers returns the names in the directory, and in its folder of captures, that are not Freshet's.
func (in Inside) Strangers() (names []string, err error) {
	top, err := in.fs.List(in.dir.path)
	if err != nil {
		return nil, err
	}
	for _, name := range top {
		as := name
		if info, err := in.fs.Stat(in.Path(name)); err == nil && info.IsDir() {
			as += "/"
		}
		if !slices.Contains(topNames, as) && !leftover(name) && !strings.HasPrefix(as, InFlightPrefix) {
			names = append(names, name)
		}
	}
	captures, err := in.fs.List(in.Path(format.CapturesDir))
	for _, name := range captures {
		if !strings.HasSuffix(strings.TrimSuffix(name, ".open"), ".warc.gz") {
			names = append(names, format.CapturesDir+"/"+name)
		}
	}
	slices.Sort(names)
	return names, err
}
