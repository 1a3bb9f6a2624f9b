package house

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// step matches a line of a way in ARCHITECTURE.md. Such a line begins with a function or method.
var step = regexp.MustCompile(`(?m)^ ([a-z]+(?:\.[A-Za-z]+){1,2})  +\S`)

// TestArchitectureNamesFunctions holds that the functions on the ways of ARCHITECTURE.md exist.
func TestArchitectureNamesFunctions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, declared := range s.Decls {
			switch d := declared.(type) {
			case *ast.FuncDecl:
				there[qualified(s, d)] = true
			case *ast.GenDecl:
				for _, name := range interfaceMethods(d) {
					there[path.Base(s.dir())+"."+name] = true
				}
			}
		}
	}
	steps := step.FindAllStringSubmatch(string(text), -1)
	for _, found := range steps {
		if !there[found[1]] {
			t.Errorf("ARCHITECTURE.md: no function %s", found[1])
		}
	}
	if len(steps) < 40 {
		t.Errorf("ARCHITECTURE.md: %d functions: want 40 or more", len(steps))
	}
}

// qualified returns a function's name after its package's, and after its type's if it is a method.
func qualified(s *source, d *ast.FuncDecl) string {
	names := []string{path.Base(s.dir()), d.Name.Name}
	if d.Recv != nil {
		names = []string{names[0], receiver(d).Name, names[1]}
	}
	return strings.Join(names, ".")
}

// interfaceMethods returns the methods of the interfaces that a declaration introduces, behind their types' names.
func interfaceMethods(d *ast.GenDecl) (names []string) {
	for _, spec := range d.Specs {
		spec, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		i, ok := spec.Type.(*ast.InterfaceType)
		if !ok {
			continue
		}
		for _, method := range i.Methods.List {
			for _, name := range method.Names {
				names = append(names, spec.Name.Name+"."+name.Name)
			}
		}
	}
	return names
}
