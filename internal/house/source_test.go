package house

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A ban forbids names of a package everywhere but in one folder of ours.
type ban struct {
	importPath string
	names      []string // "*" is all but those of except
	except     []string
	home       string // the folder where they are allowed, or none
	why        string
}

var bans = []ban{
	{
		importPath: "time",
		names:      []string{"Now", "Sleep", "After", "AfterFunc", "Since", "Until", "NewTimer", "NewTicker", "Tick"},
		home:       "clock",
		why:        "policies are told the time, live parts ask a *clock.Clock",
	},
	{
		importPath: "math/rand",
		names:      []string{"*"},
		why:        "use a *rand.Rand of math/rand/v2",
	},
	{
		importPath: "math/rand/v2",
		names:      []string{"*"},
		except:     []string{"Rand", "New", "PCG", "NewPCG", "ChaCha8", "NewChaCha8", "Zipf", "NewZipf", "Source"},
		why:        "randomness comes from a *rand.Rand that is an argument",
	},
	{
		importPath: "log/slog",
		names: []string{"Default", "SetDefault", "With", "Log", "LogAttrs", "Debug", "DebugContext", "Info", "InfoContext",
			"Warn", "WarnContext", "Error", "ErrorContext", "SetLogLoggerLevel"},
		why: "a logger comes through Options",
	},
	{
		importPath: "log",
		names:      []string{"*"},
		why:        "use a *slog.Logger that comes through Options",
	},
}

// forbids reports whether the ban holds for a name in a folder.
func (b *ban) forbids(dir, name string) bool {
	return dir != b.home && (slices.Contains(b.names, name) || b.names[0] == "*" && !slices.Contains(b.except, name))
}

// TestBans holds that time, chance and logs come from where they should. Tests that run in bubbles of
// testing/synctest may use the bubble's time.
func TestBans(t *testing.T) {
	for _, s := range sources(t) {
		imports := s.imports()
		ast.Inspect(s.File, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			name, ok := selector.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, b := range bans {
				if imports[name.Name] != b.importPath || !b.forbids(s.dir(), selector.Sel.Name) {
					continue
				}
				if b.importPath == "time" && s.test && imports["synctest"] != "" {
					continue
				}
				t.Errorf("%s: %s.%s: %s", s.line(selector.Pos()), name.Name, selector.Sel.Name, b.why)
			}
			return true
		})
	}
}

// TestNoDotImports holds that no dot import hides anything from TestBans.
func TestNoDotImports(t *testing.T) {
	for _, s := range sources(t) {
		for _, spec := range s.Imports {
			if spec.Name != nil && spec.Name.Name == "." {
				t.Errorf("%s: imports %s into its own names", s.line(spec.Pos()), spec.Path.Value)
			}
		}
	}
}

// TestNoInit holds that importing a package does nothing.
func TestNoInit(t *testing.T) {
	for _, s := range sources(t) {
		for _, declaration := range s.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: func init: set up in a constructor or in main", s.line(f.Pos()))
			}
		}
	}
}

// TestNothingLeftToDo holds that no file carries a note of unfinished work.
func TestNothingLeftToDo(t *testing.T) {
	notes := []string{"TO" + "DO", "FIX" + "ME"}
	for _, name := range files(t) {
		switch path.Ext(name) {
		case ".go", ".md", ".sh", ".html", ".js", ".mjs", ".css", ".yml", ".yaml":
		default:
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, note := range notes {
			if strings.Contains(string(text), note) {
				t.Errorf("%s: %s", name, note)
			}
		}
	}
}

// TestExportedNamesAreExplained holds that every package and every exported name, methods of exported
// types included, has a doc comment. In a group of constants or variables the group's will do.
func TestExportedNamesAreExplained(t *testing.T) {
	explained := map[string]bool{} // folders, by whether a file of theirs has a package comment
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		explained[s.dir()] = explained[s.dir()] || s.Doc != nil
		for _, declaration := range s.Decls {
			for _, name := range unexplained(declaration) {
				t.Errorf("%s: %s has no doc comment", s.line(name.Pos()), name.Name)
			}
		}
	}
	for dir, ok := range explained {
		if !ok {
			t.Errorf("package %s has no doc comment", dir)
		}
	}
}

// unexplained returns the exported names that a declaration introduces without a comment.
func unexplained(declaration ast.Decl) []*ast.Ident {
	var found []*ast.Ident
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || receiver(d).IsExported()) {
			found = append(found, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && spec.Doc == nil && (d.Doc == nil || d.Lparen != token.NoPos) {
					found = append(found, spec.Name)
				}
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					if name.IsExported() && spec.Doc == nil && spec.Comment == nil && d.Doc == nil {
						found = append(found, name)
					}
				}
			}
		}
	}
	return found
}

// receiver returns the name of the type that a method belongs to.
func receiver(method *ast.FuncDecl) *ast.Ident {
	expression := method.Recv.List[0].Type
	for {
		switch e := expression.(type) {
		case *ast.StarExpr:
			expression = e.X
		case *ast.IndexExpr:
			expression = e.X
		case *ast.IndexListExpr:
			expression = e.X
		case *ast.Ident:
			return e
		default:
			return ast.NewIdent("_")
		}
	}
}
