// Package webs opens webs for experiments by name.
package webs

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"freshet/lab"
	"freshet/sim/graph"
)

// Source opens webs. The zero value opens synthetic webs and files only.
type Source struct {
	// Recorded returns the file of a web of RealNames. Its error wraps lab.ErrNoData if the sites are not on
	// this machine.
	Recorded func(ctx context.Context, name string) (file string, err error)
	// Published returns the path of a graph of PublishedNames. file is the name under which it was published.
	// Its error wraps lab.ErrNoData if it is not on this machine.
	Published func(file string) (path string, err error)
}

// RealNames returns the names of the webs that were recorded from real sites.
func RealNames() []string { return []string{"real-14", "real-split"} }

// published returns the file of each graph that others published with the URLs of its pages.
func published() map[string]string {
	return map[string]string{
		"california": "gr0.California.gz", // J. Kleinberg, 2002: what a query found, and what links there
		"hollins":    "hollins.dat.gz",    // a crawl of hollins.edu, 2004
	}
}

// PublishedNames returns the names of the webs that are graphs which others published.
func PublishedNames() []string { return slices.Sorted(maps.Keys(published())) }

// Names returns the names that Open accepts as one text, for help and errors.
func Names() string {
	return strings.Join(slices.Concat(graph.Names(), RealNames(), PublishedNames()), ", ") + ", or a file of a web or of pages and links"
}

// Open returns the web of that name, or the web in that file. Another seed gives a synthetic web other links. It
// gives a real web servers of other speeds, because speeds were not recorded. It gives a published graph other speeds
// and page sizes. It changes nothing in a recorded file. An unknown name is a *lab.ParameterError. If the data of a
// known name is missing, the error wraps lab.ErrNoData.
func (s Source) Open(ctx context.Context, name string, seed uint64) (*graph.Stored, error) {
	if recipe, ok := graph.Recipes()[name]; ok {
		recipe.Seed += seed
		web, _, err := graph.Generate(ctx, recipe)
		return web, err
	}
	if slices.Contains(RealNames(), name) {
		return s.real(ctx, name, seed)
	}
	if file, ok := published()[name]; ok {
		return s.list(file, seed)
	}
	return read(name, seed)
}

func (s Source) real(ctx context.Context, name string, seed uint64) (*graph.Stored, error) {
	if s.Recorded == nil {
		return nil, lab.ErrNoData
	}
	file, err := s.Recorded(ctx, name)
	if err != nil {
		return nil, err
	}
	web, err := read(file, seed)
	if err != nil {
		return nil, err
	}
	return web.WithServers(1 + seed), nil
}

func (s Source) list(file string, seed uint64) (*graph.Stored, error) {
	if s.Published == nil {
		return nil, lab.ErrNoData
	}
	path, err := s.Published(file)
	if err != nil {
		return nil, err
	}
	return read(path, seed)
}

func read(name string, seed uint64) (*graph.Stored, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &lab.ParameterError{Name: "web", Value: name, Want: Names()}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return graph.Open(f, name, 1+seed)
}
