package page

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed94657493/warren/test/must"
)

// Examples returns the bodies of the examples in a folder by their names, as a page shows them.
func Examples(t testing.TB, folder string) map[string]string {
	t.Helper()
	names := must.Glob(t, filepath.Join(folder, "*_test.go"))
	bodies := map[string]string{}
	for _, name := range names {
		text := must.ReadFile(t, name)
		files := token.NewFileSet()
		tree := must.Do(parser.ParseFile(files, name, text, 0))(t)
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
