package house

import (
	"go/ast"
	"path"
	"regexp"
	"testing"
)

var testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]*|Example(?:[A-Z][A-Za-z0-9]*)?)`")

// TestHeldBy holds that the tests in documents exist: a claim names the test that holds it.
func TestHeldBy(t *testing.T) {
	tests := map[string]bool{}
	for _, s := range sources(t) {
		for _, declared := range s.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && s.test && f.Recv == nil {
				tests[f.Name.Name] = true
			}
		}
	}
	for _, name := range files(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, match := range testName.FindAllStringSubmatch(document(t, name), -1) {
			if !tests[match[1]] {
				t.Errorf("%s names %s, but no test has that name", name, match[1])
			}
		}
	}
}
