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

// names returns the names of both webs.
func names() []string { return []string{Real14, RealSplit} }

// ErrAbsent means that some of the sites are not on this machine.
var ErrAbsent = errors.New("recorded: the real sites are not here")

// File returns the file of the named web. If there is none, it writes both webs from the sites that package sites
// keeps, which takes half a minute. The error is ErrAbsent if a site is missing: File downloads none.
func File(ctx context.Context, name string) (string, error) {
	if !slices.Contains(names(), name) {
		return "", fmt.Errorf("recorded: no web %q: want %s", name, strings.Join(names(), " or "))
	}
	dir, err := sites.Directory()
	if err != nil {
		return "", err
	}
	file := path(dir, name)
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

// path returns the file of the named web in dir.
func path(dir, name string) string { return filepath.Join(dir, name+".graph.gz") }

// manual is a site and its pages.
type manual struct {
	sites.Site
	pages []page
}

// Write writes the webs of some sites to dir. It replaces earlier ones.
func Write(ctx context.Context, dir string, all []sites.Site) error {
	manuals := make([]manual, len(all))
	for i, site := range all {
		pages, err := read(ctx, site)
		if err != nil {
			return err
		}
		manuals[i] = manual{site, pages}
	}
	return errors.Join(
		create(path(dir, Real14), manuals, whole),
		create(path(dir, RealSplit), manuals, split))
}

// whole writes a manual as one site.
func whole(out *graph.Recorder, m manual) {
	write(out, "http://"+m.Host(), m.pages, strings.TrimPrefix(m.Home, "/"))
}

// split writes each directory below the root of a manual as a site.
func split(out *graph.Recorder, m manual) {
	for directory, pages := range byDirectory(m.pages) {
		write(out, "http://"+m.Host()+"/"+directory, pages, home(directory, pages))
	}
}

// write writes a site. home is the path of its home page.
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

// byDirectory yields the pages of each first directory below the root, in order of their paths. The name of the root
// itself is "".
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

// home returns the path of a directory's home page: its index.html, or else, of the pages nearest to the root, the one
// with the most links.
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

// create writes the file of a web. It calls write for each manual. It writes beside the place of the file and renames
// at the end, so an interrupted run leaves no incomplete file.
func create(name string, manuals []manual, write func(*graph.Recorder, manual)) error {
	disk, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("recorded: %w", err)
	}
	defer os.Remove(disk.Name()) // unless renamed
	text := bufio.NewWriter(disk)
	pack := gzip.NewWriter(text)
	out := graph.NewRecorder(pack)
	for _, m := range manuals {
		write(out, m)
	}
	if err := errors.Join(out.Close(), pack.Close(), text.Flush(), disk.Close()); err != nil {
		return fmt.Errorf("recorded: %s: %w", name, err)
	}
	return os.Rename(disk.Name(), name)
}
