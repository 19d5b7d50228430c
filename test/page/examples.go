package page

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Examples returns the bodies of the examples in a folder by their names, as a page shows them.
func Examples(t testing.TB, folder string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Example") {
				continue
			}
			body := text[files.Position(f.Body.Lbrace).Offset+2 : files.Position(f.Body.Rbrace).Offset]
			bodies[f.Name.Name] = strings.TrimPrefix(strings.ReplaceAll("\n"+string(body), "\n\t", "\n"), "\n")
		}
	}
	if len(bodies) == 0 {
		t.Fatalf("%s has no examples", folder)
	}
	return bodies
}
