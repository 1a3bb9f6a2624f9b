package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// A source is one Go file of the module.
type source struct {
	path string // from the module's root, with slashes
	test bool
	*ast.File
	fset *token.FileSet
}

// dir returns the package's folder: its import path without the module's name.
func (s *source) dir() string { return path.Dir(s.path) }

func (s *source) line(pos token.Pos) string {
	return s.path + ":" + strconv.Itoa(s.fset.Position(pos).Line)
}

// imports returns the import paths of the file by the names that it uses for them.
func (s *source) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range s.Imports {
		importPath, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(importPath)
		if importPath == "math/rand/v2" {
			name = "rand"
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = importPath
	}
	return names
}

// sources parses all Go files of the module.
func sources(t *testing.T) []*source {
	t.Helper()
	fset := token.NewFileSet()
	var all []*source
	for _, name := range files(t) {
		if path.Ext(name) != ".go" {
			continue
		}
		file, err := parser.ParseFile(fset, filepath.Join(root, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &source{name, strings.HasSuffix(name, "_test.go"), file, fset})
	}
	return all
}

// files returns the module's files in order, by their paths from its root. It leaves out test data, hidden folders,
// installed and built files, and other modules.
func files(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			relative, err := filepath.Rel(root, name)
			all = append(all, filepath.ToSlash(relative))
			return err
		}
		switch base := entry.Name(); {
		case name == root:
		case base == "testdata", base == "node_modules", base == "bin", base == "data", base[0] == '.':
			return fs.SkipDir
		default:
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
				return fs.SkipDir
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
