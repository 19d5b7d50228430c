package arch

import (
	"bytes"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// pure are the packages whose outcome may depend on their input alone.
var pure = []string{"proto", "zab", "datatree"}

func TestPurePackages(t *testing.T) {
	const why = "proto, zab and datatree must give every server the same answer; hand the value in instead"
	for _, f := range production(t) {
		if !f.in(pure...) || f.in("proto/gen", "proto/internal/require") {
			continue // a generator, and what only tests use
		}
		for imported := range f.imports() {
			switch imported {
			case "os", "net", "io/fs", "path/filepath", "syscall", "os/exec", "os/signal", "math/rand", "crypto/rand",
				"log", "log/slog":
				t.Errorf("%s imports %s: %s", f.name, imported, why)
			}
		}
		f.uses("time", func(selector string, pos token.Position) {
			switch selector {
			case "Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker":
				t.Errorf("%s: time.%s: %s", pos, selector, why)
			}
		})
		f.uses("math/rand/v2", func(selector string, pos token.Position) {
			// Types and constructors are fine: a *rand.Rand that was handed in is deterministic.
			if !slices.Contains([]string{"Rand", "Source", "New", "NewPCG", "NewChaCha8", "PCG", "ChaCha8", "Zipf",
				"NewZipf"}, selector) {
				t.Errorf("%s: rand.%s uses the global generator: %s", pos, selector, why)
			}
		})
	}
}

// All disk access goes through wal/vfs, where tests can make it fail.
func TestFilesAreOpenedInFewPlaces(t *testing.T) {
	homes := []string{"wal/vfs", "cmd", "server/config", "server/meta", "proto/gen", "test",
		"kerberos",       // krb5.conf, and the tickets of kinit
		"internal/inuse", // /proc, which is no disk
		"client"}         // /proc/uptime
	openers := []string{
		"Open", "OpenFile", "OpenInRoot", "OpenRoot", "Create", "CreateTemp", "ReadFile", "WriteFile", "ReadDir",
		"Mkdir", "MkdirAll", "MkdirTemp", "Remove", "RemoveAll", "Rename", "Truncate", "Stat", "Lstat", "Link",
		"Symlink", "Chmod", "Chown", "Chtimes", "DirFS", "CopyFS",
	}
	for _, f := range production(t) {
		if f.in(homes...) {
			continue
		}
		f.uses("os", func(selector string, pos token.Position) {
			if slices.Contains(openers, selector) && !mayRead(f, selector) {
				t.Errorf("%s: os.%s: files are opened in %s only", pos, selector, strings.Join(homes, ", "))
			}
		})
	}
}

// mayRead excepts what is no data of ours: the kernel's own view of this process.
func mayRead(f *file, selector string) bool {
	return f.folder == "server/internal/facts" && strings.HasPrefix(path.Base(f.name), "process") &&
		(selector == "ReadDir" || selector == "Open")
}

func TestNoPrinting(t *testing.T) {
	for _, f := range production(t) {
		if f.in("cmd", "test", "proto/gen") {
			continue
		}
		f.uses("fmt", func(selector string, pos token.Position) {
			if strings.HasPrefix(selector, "Print") {
				t.Errorf("%s: fmt.%s: packages do not print, they return errors or log", pos, selector)
			}
		})
	}
}

func TestAtomicsAreTyped(t *testing.T) {
	for _, f := range files(t) {
		f.uses("sync/atomic", func(selector string, pos token.Position) {
			for _, function := range []string{"Add", "Load", "Store", "Swap", "CompareAndSwap", "And", "Or"} {
				if strings.HasPrefix(selector, function) {
					t.Errorf("%s: atomic.%s: use a typed atomic, whose other accesses cannot be plain", pos, selector)
				}
			}
		})
	}
}

func TestNoInit(t *testing.T) {
	for _, f := range production(t) {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: func init: state that nobody asked for; use a constructor", fileSet.Position(fn.Pos()))
			}
		}
	}
}

func TestEveryPackageHasADoc(t *testing.T) {
	docs := map[string]bool{}
	for _, f := range production(t) {
		docs[f.folder] = docs[f.folder] || f.ast.Doc != nil && strings.TrimSpace(f.ast.Doc.Text()) != ""
	}
	for folder, has := range docs {
		if !has {
			t.Errorf("%s: no file has a package doc: facts, contract, who owns which state", folder)
		}
	}
}

// Sources are ASCII but for string literals, so that every editor, terminal and diff shows what the compiler sees.
func TestCommentsAreASCII(t *testing.T) {
	for _, f := range files(t) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if i := strings.IndexFunc(c.Text, func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
					r, _ := utf8.DecodeRuneInString(c.Text[i:])
					t.Errorf("%s: comment with %q: comments are ASCII", fileSet.Position(c.Pos()), r)
				}
			}
		}
	}
}

// Comments speak of the code.
func TestNoLeftovers(t *testing.T) {
	for _, f := range files(t) {
		for _, group := range f.ast.Comments {
			for _, word := range []string{"TODO", "FIXME", "XXX", "HACK"} {
				if strings.Contains(group.Text(), word+":") || strings.Contains(group.Text(), word+"(") {
					t.Errorf("%s: %s: do it, or write down why not", fileSet.Position(group.Pos()), word)
				}
			}
		}
	}
}

// Modules cannot share an internal package, so two have their own copy of the assertions.
func TestCopiesOfAssertionsAreEqual(t *testing.T) {
	const folder = "internal/require"
	names := must.Glob(t, filepath.Join("..", "..", "proto", folder, "*.go"))
	require.NotEmpty(t, names)
	for _, name := range names {
		base := filepath.Base(name)
		if strings.HasSuffix(base, "_test.go") {
			continue // the tests of one are the tests of all
		}
		want := must.ReadFile(t, name)
		got := must.ReadFile(t, filepath.Join("..", "..", "client", folder, base))
		if !bytes.Equal(got, want) {
			t.Errorf("client/%s/%s is not a copy of the one in proto", folder, base)
		}
	}
}

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	folder := filepath.Join("..", "..", "proto")
	dir := t.TempDir()
	definitions := must.Glob(t, filepath.Join(folder, "*.def"))
	require.NotEmpty(t, definitions)
	for _, d := range definitions {
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(d)), must.ReadFile(t, d), 0o600))
	}
	must.Output(t, exec.Command("go", "run", module+"/proto/gen", "-dir", dir))

	generated := must.Glob(t, filepath.Join(dir, "*.go"))
	require.NotEmpty(t, generated)
	names := map[string]bool{}
	for _, g := range generated {
		name := filepath.Base(g)
		names[name] = true
		want := must.ReadFile(t, g)
		got := must.ReadFile(t, filepath.Join(folder, name))
		if !bytes.Equal(got, want) {
			t.Errorf("proto/%s is not what the definitions say: run make generate", name)
		}
	}
	for _, f := range files(t) {
		if ast.IsGenerated(f.ast) && !(f.folder == "proto" && names[path.Base(f.name)]) {
			t.Errorf("%s says that it is generated, but no generator writes it", f.name)
		}
	}
}
