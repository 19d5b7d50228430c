package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/stretchr/testify/require"
)

// held is a lock with its holders and those that wait, as the API tells it. A name is that of a session.
func held(kind, path, holders, waiters string) map[string]any {
	members := []map[string]string{}
	for state, names := range map[string]string{"holds": holders, "waits": waiters} {
		for name := range strings.FieldsSeq(names) {
			members = append(members, map[string]string{"state": state, "session": name, "path": path + "/" + name})
		}
	}
	return map[string]any{"path": path, "kind": kind, "members": members}
}

// Who is in a cycle, who is behind it, and in which columns they are drawn.
func TestWaits(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("WARREN_NPM") == "required" {
			t.Fatal("there is no node: install it, or unset WARREN_NPM")
		}
		t.Skip("there is no node")
	}
	type recipes []map[string]any
	cases := []struct {
		name          string
		recipes       recipes
		cycle, behind string
		columns       string // of nodes, by their names
	}{
		{"nobody waits", recipes{held("lock", "/a", "1", "")}, "", "", ""},
		{"one waits", recipes{held("lock", "/a", "1", "2")}, "", "", "2 | lock /a | 1"},
		{"a chain", recipes{held("lock", "/a", "1", "2"), held("lock", "/b", "2", "3")}, "", "",
			"3 | lock /b | 2 | lock /a | 1"},
		{"two for each other", recipes{held("lock", "/a", "1", "2"), held("lock", "/b", "2", "1")}, "1 2", "",
			"2 | lock /a | 1 | lock /b"},
		{"three and one behind them", recipes{held("lock", "/a", "1", "2 4"), held("lock", "/b", "2", "3"),
			held("lock", "/c", "3", "1")}, "1 2 3", "4", ""},
		{"two cycles apart", recipes{held("lock", "/a", "1", "2"), held("lock", "/b", "2", "1"),
			held("lock", "/c", "3", "4"), held("lock", "/d", "4", "3")}, "1 2 3 4", "", ""},
		{"another thread of the same session", recipes{held("lock", "/a", "1", "1")}, "", "", ""},
		{"a reader that is no part of it still has to let go", recipes{held("read/write lock", "/a", "1 9", "2"),
			held("lock", "/b", "2", "1")}, "1 2", "", ""},
		{"a permit of a semaphore that comes back", recipes{held("semaphore", "/a", "1 9", "2"),
			held("lock", "/b", "2", "1")}, "", "", ""},
		{"a semaphore of which no permit comes back", recipes{held("semaphore", "/a", "1 3", "2"),
			held("lock", "/b", "2", "1 3")}, "1 2 3", "", ""},
		{"an election", recipes{held("election", "/a", "1", "2"), held("election", "/b", "2", "1")}, "", "", ""},
		{"a queue", recipes{held("queue", "/a", "1", "2")}, "", "", ""},
	}
	built := api.Build(api.BuildOptions{EntryPoints: []string{filepath.Join("../..", App, "src/waits.ts")},
		Bundle: true, Format: api.FormatESModule})
	require.Empty(t, built.Errors)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "waits.mjs"), built.OutputFiles[0].Contents, 0o600))
	script := `import { readFileSync } from "node:fs";
		import { draw, waitsOf } from "./waits.mjs";
		console.log(JSON.stringify(JSON.parse(readFileSync(0)).map((recipes) => {
			const waits = waitsOf(recipes), d = draw(waits);
			const column = (c) => d.nodes.filter((n) => n.column === c).map((n) => n.id).sort().join(" ");
			return {
				cycle: [...waits.cycle].sort().join(" "), behind: [...waits.behind].sort().join(" "),
				columns: Array.from({ length: d.columns }, (_, c) => column(c)).join(" | "),
				marked: d.edges.filter((e) => e.cycle).length,
				apart: new Set(d.nodes.map((n) => n.column + " " + n.row)).size === d.nodes.length,
			};
		})));`
	require.NoError(t, os.WriteFile(filepath.Join(folder, "run.mjs"), []byte(script), 0o600))
	var all []recipes
	for _, c := range cases {
		all = append(all, c.recipes)
	}
	many := recipes{held("lock", "/many", "0", strings.Repeat("1", 200))} // one waiter with a long name
	for i := range 30 {
		many = append(many, held("lock", "/l"+strings.Repeat("x", i), "h", "a b c d e f g"))
	}
	all = append(all, many)
	text, err := json.Marshal(all)
	require.NoError(t, err)
	run := exec.CommandContext(t.Context(), node, "run.mjs")
	run.Dir, run.Stdin = folder, strings.NewReader(string(text))
	said, err := run.CombinedOutput()
	require.NoError(t, err, "%s", said)
	var got []struct {
		Cycle, Behind, Columns string
		Marked                 int
		Apart                  bool
	}
	require.NoError(t, json.Unmarshal(said, &got))
	for i, c := range cases {
		require.Equal(t, c.cycle, got[i].Cycle, c.name)
		require.Equal(t, c.behind, got[i].Behind, c.name)
		require.Equal(t, c.cycle != "", got[i].Marked > 0, c.name)
		require.True(t, got[i].Apart, c.name)
		if c.columns != "" {
			require.Equal(t, c.columns, got[i].Columns, c.name)
		}
	}
	require.Len(t, strings.Fields(strings.ReplaceAll(got[len(cases)].Columns, "lock /", "")), 24+4+1+2,
		"24 locks, 4 waiters, a holder, 2 bars: %s", got[len(cases)].Columns)
}
