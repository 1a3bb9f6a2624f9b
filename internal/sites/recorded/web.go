package recorded

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"freshet/internal/sites"
	"freshet/sim/discovery"
	"freshet/sim/graph"
)

// The names of the webs.
const (
	Real14    = "real-14"
	RealSplit = "real-split"
)

// ErrAbsent says that not all sites are on this machine.
var ErrAbsent = errors.New("recorded: the real sites are not here")

// File returns the file of the web of that name, real-14 or real-split. Both are made of the sites where
// package sites keeps them, unless they are there from an earlier time, which takes half a minute. The
// error is ErrAbsent if a site is not there: File fetches none.
func File(ctx context.Context, name string) (string, error) {
	if name != Real14 && name != RealSplit {
		return "", fmt.Errorf("recorded: no web %q: want %s or %s", name, Real14, RealSplit)
	}
	dir, err := sites.Directory()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, name+".graph.gz")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	for _, site := range sites.Names() {
		if _, err := os.Stat(filepath.Join(dir, site)); errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%w: %s lacks %s", ErrAbsent, dir, site)
		}
	}
	all, err := sites.Install(ctx, dir, sites.Names()...)
	if err != nil {
		return "", err
	}
	return file, Write(ctx, dir, all)
}

// Write makes both webs of some sites in dir, in place of what is there.
func Write(ctx context.Context, dir string, all []sites.Site) error {
	whole, err := create(filepath.Join(dir, Real14+".graph.gz"))
	if err != nil {
		return err
	}
	defer whole.discard()
	split, err := create(filepath.Join(dir, RealSplit+".graph.gz"))
	if err != nil {
		return err
	}
	defer split.discard()
	for _, site := range all {
		pages, err := read(ctx, site)
		if err != nil {
			return err
		}
		write(whole.Recorder, "http://"+site.Host(), pages, strings.TrimPrefix(site.Home, "/"))
		for directory, pages := range byDirectory(pages) {
			write(split.Recorder, "http://"+site.Host()+"/"+directory, pages, home(directory, pages))
		}
	}
	return errors.Join(whole.commit(), split.commit())
}

// write writes a site whose home is that of a path.
func write(out *graph.Recorder, name string, pages []page, home string) {
	out.Site(name, discovery.Server{})
	for _, first := range []bool{true, false} {
		for _, p := range pages {
			if (p.path == home) == first {
				out.Page(p.name, float64(p.bytes), p.links)
			}
		}
	}
}

// byDirectory returns the pages of each first directory below the root, that of the root itself being "".
// The pages are in order of their paths.
func byDirectory(pages []page) func(yield func(string, []page) bool) {
	sorted := slices.Clone(pages)
	slices.SortStableFunc(sorted, func(a, b page) int { return cmp.Compare(a.directory(), b.directory()) })
	return func(yield func(string, []page) bool) {
		for len(sorted) > 0 {
			directory := sorted[0].directory()
			end := slices.IndexFunc(sorted, func(p page) bool { return p.directory() != directory })
			if end < 0 {
				end = len(sorted)
			}
			if !yield(directory, sorted[:end]) {
				return
			}
			sorted = sorted[end:]
		}
	}
}

// home returns the path of a directory's home: its index.html, or else of the pages nearest to the root the
// one with most links.
func home(directory string, pages []page) string {
	best := pages[0]
	for _, p := range pages {
		if p.path == strings.TrimPrefix(directory+"/index.html", "/") {
			return p.path
		}
		if d := cmp.Compare(p.level(), best.level()); d < 0 || d == 0 && len(p.links) > len(best.links) {
			best = p
		}
	}
	return best.path
}

// file is a web that is being written beside its place.
type file struct {
	*graph.Recorder
	name string
	disk *os.File
	text *bufio.Writer
	pack *gzip.Writer
}

func create(name string) (*file, error) {
	disk, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return nil, fmt.Errorf("recorded: %w", err)
	}
	f := &file{name: name, disk: disk, text: bufio.NewWriter(disk)}
	f.pack = gzip.NewWriter(f.text)
	f.Recorder = graph.NewRecorder(f.pack)
	return f, nil
}

// commit puts the whole file in its place.
func (f *file) commit() error {
	if err := errors.Join(f.Close(), f.pack.Close(), f.text.Flush(), f.disk.Close()); err != nil {
		return fmt.Errorf("recorded: %s: %w", f.name, err)
	}
	return os.Rename(f.disk.Name(), f.name)
}

// discard leaves nothing of a file that was not committed.
func (f *file) discard() {
	_ = f.disk.Close()
	_ = os.Remove(f.disk.Name())
}
