package arch

import (
	"go/ast"
	"go/parser"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A goroutine that panics runs its deferred functions first. If one of them takes a lock that the goroutine holds, the
// process neither ends nor goes on. And a panic that is recovered leaves locks behind that are never free again. See
// package server.

// served are the folders whose code runs in a server.
var served = []string{"server", "internal/sched", "datatree", "zab", "wal", "snapshot", "kerberos"}

// waits are methods by which a goroutine may wait for another one.
var waits = []string{"Lock", "RLock", "Wait", "WaitFor", "Park", "Take"}

// lockedLate are deferred functions that take a lock, by file and function, and why a panic does not hang in them: the
// locks that they take are never held while the function panics, or are released by an inner deferred function.
var lockedLate = map[string]string{
	"internal/sched/group.go Go":                    "the count has a lock of its own",
	"server/internal/admin/limits.go handler":       "Fatal is inside: only http.ErrAbortHandler comes so far",
	"server/internal/api/changes.go changes":        "the count of streams has a lock of its own",
	"server/internal/durable/snapshotter.go Write":  "the source of a snapshot releases the lock of the tree by defer",
	"server/internal/host/transfer.go sendSnapshot": "the source of a snapshot releases the lock of the tree by defer",
	"server/peers/dial.go dialAny":                  "the lock of what is dialled is released by defer",
	"server/peers/writer.go put":                    "the stream and the socket know nothing of the lock of the link",
	"wal/log.go extend":                             "what is written to the file knows nothing of the lock of ahead",
}

// recovers are the functions that recover a panic, and why no lock is left behind.
var recovers = map[string]string{
	"server/internal/admin/fatal.go Fatal":   "it ends the process",
	"server/internal/formats/lay.go layYAML": "a library panics on damaged input, and no lock is held around it",
	"server/meta/db.go recovered":            "a library panics on damaged files, and releases its locks itself",
	"kerberos/login.go askKDC":               "a library panics on damaged input, and releases its locks itself",
}

func TestPanicsAreNeitherHeldUpNorRecovered(t *testing.T) {
	unlisted := maps.Clone(lockedLate)
	maps.Copy(unlisted, recovers)
	folders := map[string][]*file{}
	for _, f := range production(t) {
		if slices.ContainsFunc(served, func(s string) bool { return strings.HasPrefix(f.folder+"/", s+"/") }) {
			folders[f.folder] = append(folders[f.folder], f)
		}
	}
	for _, in := range folders {
		takers := takersOf(in)
		for _, f := range in {
			f.eachFunc(func(fn *ast.FuncDecl) {
				place := f.name + " " + fn.Name.Name
				if defersTaker(fn.Body, takers) {
					if lockedLate[place] == "" {
						t.Errorf("%s: a deferred function may wait for a lock: a panic would hang in it", place)
					}
					delete(unlisted, place)
				}
				if recoversPanic(fn.Body) {
					if recovers[place] == "" {
						t.Errorf("%s: a panic is recovered: locks that are held would never be free again", place)
					}
					delete(unlisted, place)
				}
			})
		}
	}
	require.Empty(t, unlisted, "exceptions that no function needs")
}

func (f *file) eachFunc(visit func(*ast.FuncDecl)) {
	for _, decl := range f.ast.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
			visit(fn)
		}
	}
}

// takersOf returns the names of the functions and methods of a package that may wait, by themselves or by others of
// the package. Names are not resolved, so some are too many. Those of the standard library are left out.
func takersOf(in []*file) map[string]bool {
	calls := map[string]map[string]bool{}
	for _, f := range in {
		f.eachFunc(func(fn *ast.FuncDecl) {
			if calls[fn.Name.Name] == nil {
				calls[fn.Name.Name] = map[string]bool{}
			}
			maps.Copy(calls[fn.Name.Name], callsOf(fn.Body))
		})
	}
	for _, name := range []string{"Add", "Close", "Stop", "Unlock", "cancel"} {
		delete(calls, name)
	}
	takers := map[string]bool{}
	for _, name := range waits {
		takers[name] = true
	}
	for grown := true; grown; {
		grown = false
		for name, called := range calls {
			for other := range called {
				if takers[other] && !takers[name] {
					takers[name], grown = true, true
				}
			}
		}
	}
	return takers
}

// callsOf returns the names of what is called below n, without what a goroutine of its own calls.
func callsOf(n ast.Node) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			return false
		case *ast.CallExpr:
			names[nameOf(n)] = true
		}
		return true
	})
	return names
}

// recoversPanic reports whether the builtin function recover is called below n.
func recoversPanic(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			fun, ok := call.Fun.(*ast.Ident)
			found = found || ok && fun.Name == "recover"
		}
		return true
	})
	return found
}

func nameOf(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

// defersTaker reports whether a deferred call in body is one of takers, or a function that calls one.
func defersTaker(body ast.Node, takers map[string]bool) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if d, ok := n.(*ast.DeferStmt); ok {
			called := callsOf(d.Call.Fun)
			called[nameOf(d.Call)] = true
			for name := range called {
				found = found || takers[name]
			}
		}
		return true
	})
	return found
}

// What hangs in a panic is found, and what does not is not.
func TestDefersThatHangAreFound(t *testing.T) {
	const head = "package p\nfunc (c *conn) cleanup() { c.abort() }\nfunc (c *conn) abort() { c.mu.Lock() }\n" +
		"func (c *conn) serve() { "
	for body, want := range map[string]bool{
		"defer c.cleanup()": true, "defer func() { c.abort() }()": true, "defer c.mu.Lock()": true,
		"defer c.mu.Unlock()": false, "c.cleanup()": false, "defer func() { go c.abort() }()": false,
	} {
		tree, err := parser.ParseFile(fileSet, "", head+body+" }", 0)
		require.NoError(t, err)
		f := &file{ast: tree}
		found := false
		f.eachFunc(func(fn *ast.FuncDecl) { found = found || defersTaker(fn.Body, takersOf([]*file{f})) })
		require.Equal(t, want, found, body)
	}
}
