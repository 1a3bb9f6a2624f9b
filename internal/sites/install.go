package sites

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ErrUnavailable means that this machine cannot download Debian packages, because it has no apt-get or dpkg-deb. A test
// may then skip, except in continuous integration.
var ErrUnavailable = errors.New("sites: Debian packages cannot be fetched here")

// Site is a real site on disk.
type Site struct {
	Name string // the Debian package it comes from
	Root string // the directory it is served from; in the table, relative to the unpacked package
	Home string // the path of its home page, "/index.html" or another
}

// Host returns the host name under which the site is crawled, such as "git-doc.test".
func (s Site) Host() string {
	return strings.ReplaceAll(s.Name, ".", "-") + ".test"
}

// Seed returns the URL of the home page under Host.
func (s Site) Seed() string { return "http://" + s.Host() + s.Home }

// table lists the sites from small to large.
var table = []Site{
	{"git-doc", "usr/share/doc/git-doc", "/user-manual.html"},
	{"libglib2.0-doc", "usr/share/gtk-doc/html", "/gio/index.html"},
	{"python3.11-doc", "usr/share/doc/python3.11/html", "/index.html"},
	{"python-django-doc", "usr/share/doc/python-django-doc/html", "/index.html"},
	{"sqlite3-doc", "usr/share/doc/sqlite3", "/index.html"},
	{"apache2-doc", "usr/share/doc/apache2-doc/manual", "/index.html"},
	{"llvm-15-doc", "usr/share/doc/llvm-15-doc/html", "/index.html"},
	{"postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html", "/index.html"},
	{"libeigen3-doc", "usr/share/doc/libeigen3-dev/html", "/index.html"},
	{"cmake-doc", "usr/share/doc/cmake-data/html", "/index.html"},
	{"qtbase5-doc-html", "usr/share/qt5/doc", "/qtcore/qstring.html"},
	{"libboost1.74-doc", "usr/share/doc/libboost1.74-doc/doc/html", "/index.html"},
	{"openjdk-17-doc", "usr/share/doc/openjdk-17-jre-headless/api", "/index.html"},
	{"rust-doc", "usr/share/doc/rust-doc/html", "/index.html"},
}

// Names returns the names of all sites, from small to large.
func Names() []string {
	names := make([]string, len(table))
	for i, s := range table {
		names[i] = s.Name
	}
	return names
}

// Directory returns the directory that keeps the sites between runs: $FRESHET_REAL_SITES, or freshet/real-sites in the
// user's cache directory.
func Directory() (string, error) {
	if dir := os.Getenv("FRESHET_REAL_SITES"); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("sites: no directory to keep sites in (set FRESHET_REAL_SITES): %w", err)
	}
	return filepath.Join(cache, "freshet", "real-sites"), nil
}

// Install makes the named sites available below dir. It returns them in the order of the names, with absolute roots.
// What is in dir already is not downloaded again, so a second call is quick and needs no network. All fourteen are a
// download of 108 MB and take 1.5 GB. The error is ErrUnavailable if there is no apt-get.
func Install(ctx context.Context, dir string, names ...string) ([]Site, error) {
	sites := make([]Site, 0, len(names))
	for _, name := range names {
		i := slices.IndexFunc(table, func(s Site) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("sites: no site %q: want one of %s", name, strings.Join(Names(), ", "))
		}
		site := table[i]
		unpacked := filepath.Join(dir, name)
		if _, err := os.Stat(unpacked); errors.Is(err, fs.ErrNotExist) {
			if err := unpack(ctx, dir, name, unpacked); err != nil {
				return nil, err
			}
		}
		root, err := filepath.EvalSymlinks(filepath.Join(unpacked, site.Root))
		if err != nil {
			return nil, fmt.Errorf("sites: package %s lacks its manual: %w", name, err)
		}
		site.Root = root
		sites = append(sites, site)
	}
	return sites, nil
}

// unpack downloads a package, unpacks it beside its place and then moves it there in one step. So an interrupted run
// leaves no incomplete site.
func unpack(ctx context.Context, dir, name, place string) error {
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrUnavailable, name, err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("sites: %w", err)
	}
	work, err := os.MkdirTemp(dir, ".unpack-")
	if err != nil {
		return fmt.Errorf("sites: %w", err)
	}
	defer os.RemoveAll(work)
	if err := download(ctx, work, name); err != nil {
		return err
	}
	packages, err := filepath.Glob(filepath.Join(work, "*.deb"))
	if err != nil || len(packages) != 1 {
		return fmt.Errorf("sites: apt-get left %d packages for %s, want 1", len(packages), name)
	}
	tree := filepath.Join(work, "tree")
	if err := run(ctx, work, "dpkg-deb", "-x", packages[0], tree); err != nil {
		return err
	}
	if err := os.Rename(tree, place); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("sites: %w", err)
	}
	return nil
}

// download downloads a package into dir with apt-get. If that fails, the lists of packages may be missing or old: if it
// runs as root, it fetches them once and tries again.
func download(ctx context.Context, dir, name string) error {
	get := []string{"-o", "APT::Sandbox::User=root", "download", name}
	err := run(ctx, dir, "apt-get", get...)
	if err == nil || os.Geteuid() != 0 {
		return err
	}
	if err := run(ctx, dir, "apt-get", "update"); err != nil {
		return err
	}
	return run(ctx, dir, "apt-get", get...)
}

// run runs a command in dir. Its error has the end of the command's output.
func run(ctx context.Context, dir, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("sites: %s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(tail(out, 500)))
	}
	return nil
}

// tail returns the last n bytes of b, or all of it.
func tail(b []byte, n int) []byte {
	return b[max(0, len(b)-n):]
}
