package arch

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
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/seed94657493/warren"

// file is one Go file of this repository, build tags ignored: the rules hold on every platform.
type file struct {
	name   string // relative to the top folder, with slashes
	folder string // its folder, "." for the top
	ast    *ast.File
	text   []byte
}

var (
	fileSet = token.NewFileSet()
	parsed  = sync.OnceValues(parseAll)
)

// files returns every Go file of the repository.
func files(t *testing.T) []*file {
	t.Helper()
	all, err := parsed()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

// production returns the files that are not tests.
func production(t *testing.T) []*file {
	t.Helper()
	var some []*file
	for _, f := range files(t) {
		if !f.isTest() {
			some = append(some, f)
		}
	}
	return some
}

func parseAll() ([]*file, error) {
	root := filepath.Join("..", "..")
	var all []*file
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base == "testdata" || base == "data" || base == "bin" ||
				name != root && base[0] == '.' {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		tree, err := parser.ParseFile(fileSet, relative, text, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, &file{name: relative, folder: path.Dir(relative), ast: tree, text: text})
		return nil
	})
	return all, err
}

func (f *file) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }

// in reports whether the file is in one of the folders or below it.
func (f *file) in(folders ...string) bool {
	for _, folder := range folders {
		if f.folder == folder || strings.HasPrefix(f.folder, folder+"/") {
			return true
		}
	}
	return false
}

// imports returns the import paths with the name that each has in this file.
func (f *file) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has seen it
		}
		names[p] = path.Base(p)
		if spec.Name != nil {
			names[p] = spec.Name.Name
		}
	}
	return names
}

// uses calls report for every mention of name.X, where name is the package imported from importPath.
func (f *file) uses(importPath string, report func(selector string, pos token.Position)) {
	name, ok := f.imports()[importPath]
	if !ok {
		return
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := selector.X.(*ast.Ident); ok && id.Name == name && id.Obj == nil {
			report(selector.Sel.Name, fileSet.Position(selector.Pos()))
		}
		return true
	})
}
