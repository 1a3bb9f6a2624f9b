package recorded

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"freshet/extract"
	"freshet/internal/sites"
	"freshet/weburl"
)

// page is a page of a site.
type page struct {
	path  string // below the root, with / and without one at the beginning
	name  string // its URL
	bytes int64
	links []string // URLs, in order
}

// directory returns the first directory of the path, or "" for a page in the root.
func (p page) directory() string {
	directory, _, found := strings.Cut(p.path, "/")
	if !found {
		return ""
	}
	return directory
}

// level returns how many directories the page lies below the root.
func (p page) level() int { return strings.Count(p.path, "/") }

// read returns the pages of a site with their links, in the order of their paths.
func read(ctx context.Context, site sites.Site) ([]page, error) {
	pages, err := find(site)
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(pages))
	for _, p := range pages {
		names[p.path] = p.name
	}
	var next atomic.Int64
	workers, ctx := errgroup.WithContext(ctx)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() error {
			r := newReader(site, names)
			for i := int(next.Add(1)) - 1; i < len(pages) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := r.read(&pages[i]); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return pages, workers.Wait()
}

// find returns the pages of a site without their links.
func find(site sites.Site) (pages []page, err error) {
	err = filepath.WalkDir(site.Root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if extension := filepath.Ext(file); extension != ".html" && extension != ".htm" {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		below, err := filepath.Rel(site.Root, file)
		if err != nil {
			return err
		}
		path := filepath.ToSlash(below)
		u, err := weburl.Parse("http://" + site.Host() + (&url.URL{Path: "/" + path}).EscapedPath())
		if err != nil {
			return err
		}
		pages = append(pages, page{path: path, name: u.String(), bytes: info.Size()})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recorded: %w", err)
	}
	return pages, nil
}

// reader reads pages of a site, one at a time.
type reader struct {
	site   sites.Site
	names  map[string]string // of the site's pages, by path
	others map[string]string // names met, each kept once
	parser *extract.Parser
	header http.Header
}

func newReader(site sites.Site, names map[string]string) *reader {
	return &reader{
		site: site, names: names, others: map[string]string{},
		parser: extract.NewParser(extract.Options{Repeats: true}), header: http.Header{"Content-Type": {"text/html"}},
	}
}

// read reads the links of a page.
func (r *reader) read(p *page) error {
	body, err := os.ReadFile(filepath.Join(r.site.Root, filepath.FromSlash(p.path)))
	if err != nil {
		return fmt.Errorf("recorded: %w", err)
	}
	own, err := weburl.Parse(p.name)
	if err != nil {
		return fmt.Errorf("recorded: %w", err)
	}
	found := r.parser.Extract(r.header, body, own).Links
	p.links = make([]string, len(found))
	for i, link := range found {
		p.links[i] = r.name(link.URL)
	}
	return nil
}

// name returns the name of a link's target. For a page of the site it is the page's URL here, however the link is
// written. For anything else it is the URL of the link.
func (r *reader) name(u weburl.URL) string {
	if u.Host() == r.site.Host() && u.Query() == "" {
		path, err := url.PathUnescape(strings.TrimPrefix(u.Path(), "/"))
		if path == "" || strings.HasSuffix(path, "/") {
			path += "index.html"
		}
		if name, ok := r.names[path]; ok && err == nil {
			return name
		}
	}
	name, ok := r.others[u.String()]
	if !ok {
		name = strings.Clone(u.String())
		r.others[name] = name
	}
	return name
}
