package findings

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// severityNames are the constants of severities, as the source has them.
var severityNames = map[string]Severity{"Notice": Notice, "Warning": Warning, "Error": Error, "Critical": Critical}

// made returns the checks of all findings that the package makes, with the severities at the places that make them.
func made(t *testing.T) map[string]map[Severity]bool {
	t.Helper()
	names := must.Glob(t, "*.go")
	all := map[string]map[Severity]bool{}
	note := func(severity, check ast.Expr) {
		lit, ok := check.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		name := must.Do(strconv.Unquote(lit.Value))(t)
		if all[name] == nil {
			all[name] = map[Severity]bool{}
		}
		if id, ok := severity.(*ast.Ident); ok {
			if s, known := severityNames[id.Name]; known {
				all[name][s] = true
			}
		}
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || name == "kinds.go" {
			continue
		}
		text := must.ReadFile(t, name)
		file := must.Do(parser.ParseFile(token.NewFileSet(), name, text, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				called, _ := n.Fun.(*ast.Ident)
				method, _ := n.Fun.(*ast.SelectorExpr)
				if len(n.Args) > 3 && (called != nil && called.Name == "find" ||
					method != nil && method.Sel.Name == "add") {
					note(n.Args[0], n.Args[1])
				}
			case *ast.CompositeLit: // a wording, or a row of counters
				if at := len(n.Elts)/2 - 2; len(n.Elts) == 4 || len(n.Elts) == 6 {
					if _, is := n.Elts[at].(*ast.Ident); is {
						note(n.Elts[at], n.Elts[at+1])
					}
				}
			}
			return true
		})
	}
	require.Greater(t, len(all), 40, "findings are still made in these ways")
	return all
}

// TestKinds wants the table to have exactly the findings that there are, with severities that they can have, and an
// alert for each that is more than a notice.
func TestKinds(t *testing.T) {
	all := made(t)
	names := map[string]bool{}
	for _, k := range Kinds() {
		require.Contains(t, all, k.Check, "no finding has this check")
		require.NotEmpty(t, k.Severities, k.Check)
		for s := range all[k.Check] {
			require.Contains(t, k.Severities, s, "%s is made with a severity that the table lacks", k.Check)
		}
		delete(all, k.Check)
		worst := slices.Max(k.Severities)
		require.True(t, len(k.Alerts) > 0 || worst == Notice || k.Check == "not-known", "%s has no alert", k.Check)
		for _, a := range k.Alerts {
			require.False(t, names[a.Name], "two alerts are called %s", a.Name)
			names[a.Name] = true
			require.Contains(t, k.Severities, a.Severity, a.Name)
			for _, text := range []string{a.When, a.Summary, a.Do, a.Page} {
				require.NotEmpty(t, text, a.Name)
			}
		}
	}
	require.Empty(t, all, "the table lacks these findings")
}
