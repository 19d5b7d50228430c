package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// scheduled are the packages that start goroutines, wait and tell the time only by sched.Runtime, so that a simulator
// can run them. Their tests may do as they like.
var scheduled = []string{
	"server/peers", "server/internal/host", "server/internal/durable", "server/internal/env", "server/internal/serve",
	"server/internal/stages",
}

// unscheduled are files of these packages with parts that no simulator runs, and why.
var unscheduled = map[string]string{
	"server/internal/durable/snapshotter.go": "a request of an operator over HTTP waits for a snapshot",
	"server/internal/host/restore.go":        "a request of an operator over HTTP waits for the end of a restore",
	"server/internal/env/env.go":             "a program waits for the failure of a server",
	"server/internal/serve/ports.go":         "the name of a client port is resolved before it is opened",
}

// outside lists, by import path, the names by which a goroutine waits, starts or tells the time without
// sched.Runtime.
var outside = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker",
		"Timer", "Ticker"},
	"sync":    {"Cond", "NewCond", "WaitGroup"},
	"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause", "AfterFunc"},
}

func TestScheduledPackages(t *testing.T) {
	for _, f := range production(t) {
		if slices.Contains(scheduled, f.folder) && unscheduled[f.name] == "" {
			f.leavesRuntime(func(what string, pos token.Position) {
				t.Errorf("%s: %s: a simulator cannot run it; use sched.Runtime, Parker or Gate", pos, what)
			})
		}
	}
}

// leavesRuntime calls report for every place at which the file starts a goroutine, waits or tells the time without
// sched.Runtime.
func (f *file) leavesRuntime(report func(what string, pos token.Position)) {
	for importPath, names := range outside {
		f.uses(importPath, func(selector string, pos token.Position) {
			if slices.Contains(names, selector) {
				report(importPath+"."+selector, pos)
			}
		})
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		what := ""
		switch n := n.(type) {
		case *ast.GoStmt:
			what = "go statement"
		case *ast.SelectStmt:
			what = "select statement"
		case *ast.SendStmt:
			what = "send to a channel"
		case *ast.ChanType:
			what = "channel"
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				what = "receive from a channel"
			}
		}
		if what != "" {
			report(what, fileSet.Position(n.Pos()))
		}
		return true
	})
}

// Each way around sched.Runtime is found, and the ways that are allowed are not.
func TestScheduledPackagesRule(t *testing.T) {
	for source, want := range map[string]string{
		`go f()`:                                   "go statement",
		`select {}`:                                "select statement",
		`<-ctx.Done()`:                             "receive from a channel",
		`queue <- 1`:                               "send to a channel",
		`_ = make(chan int)`:                       "channel",
		`_ = time.Now()`:                           "time.Now",
		`time.Sleep(1)`:                            "time.Sleep",
		`time.AfterFunc(1, f)`:                     "time.AfterFunc",
		`_ = time.NewTicker(1)`:                    "time.NewTicker",
		`var c sync.Cond`:                          "sync.Cond",
		`var w sync.WaitGroup`:                     "sync.WaitGroup",
		`_, _ = context.WithTimeout(ctx, 1)`:       "context.WithTimeout",
		`var m sync.Mutex; _ = 2 * time.Second`:    "",
		`_, _ = context.WithCancel(ctx); rt.Now()`: "",
	} {
		text := "package p\nimport (\"context\"; \"sync\"; \"time\")\nfunc _() {" + source + "}"
		tree, err := parser.ParseFile(fileSet, "source.go", text, 0)
		require.NoError(t, err)
		var found []string
		(&file{ast: tree}).leavesRuntime(func(what string, _ token.Position) { found = append(found, what) })
		if want == "" {
			require.Empty(t, found, source)
		} else {
			require.Equal(t, []string{want}, found, source)
		}
	}
}
