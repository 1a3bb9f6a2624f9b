// Package webs opens the webs that experiments crawl, by the names that users give them.
package webs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"freshet/lab"
	"freshet/sim/graph"
)

// Source opens webs. The zero value knows none of the real ones.
type Source struct {
	// Recorded returns the file of a web of RealNames. Its error wraps lab.ErrNoData if the sites are not on
	// this machine.
	Recorded func(ctx context.Context, name string) (file string, err error)
}

// RealNames returns the names of the webs that were recorded from real sites.
func RealNames() []string { return []string{"real-14", "real-split"} }

// Names returns what Open takes, for people.
func Names() string {
	return strings.Join(slices.Concat(graph.Names(), RealNames()), ", ") + ", or the file of a recorded web"
}

// Open returns the web of that name, or in that file. Seed is added to that of a synthetic web, which has
// other links then; a real one has servers of other speeds, which are always drawn, as none were recorded;
// of a file all stays as recorded. An unknown name is a *lab.ParameterError.
func (s Source) Open(ctx context.Context, name string, seed uint64) (*graph.Stored, error) {
	if recipe, ok := graph.Recipes()[name]; ok {
		recipe.Seed += seed
		web, _, err := graph.Generate(ctx, recipe)
		return web, err
	}
	if !slices.Contains(RealNames(), name) {
		return read(name)
	}
	if s.Recorded == nil {
		return nil, lab.ErrNoData
	}
	file, err := s.Recorded(ctx, name)
	if err != nil {
		return nil, err
	}
	web, err := read(file)
	if err != nil {
		return nil, err
	}
	return web.WithServers(1 + seed), nil
}

func read(name string) (*graph.Stored, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &lab.ParameterError{Name: "web", Value: name, Want: Names()}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return graph.Read(f, name)
}
