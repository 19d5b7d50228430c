package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	known "github.com/seed94657493/warren/test/defects"
	"github.com/seed94657493/warren/test/must"
)

const root = "../../.."

// TestPatchesApply applies the patches of all defects to the source as it is, and compiles the packages that they
// change. A patch that does not apply any more must be written anew: see "A known defect" in docs/HACKING.md.
func TestPatchesApply(t *testing.T) {
	overlay, err := write(root, t.TempDir())
	require.NoError(t, err)
	patches, err := read(root)
	require.NoError(t, err)
	var packages []string
	for _, p := range patches {
		packages = append(packages, "./"+filepath.Dir(p.file))
	}
	slices.Sort(packages)
	build := exec.Command("go", append([]string{"build", "-tags", "invariants", "-overlay", overlay},
		slices.Compact(packages)...)...)
	build.Dir = root
	must.Output(t, build)
}

// TestEachDefectHasAPatch checks that every defect has a patch that asks for it, and that no patch has another name.
func TestEachDefectHasAPatch(t *testing.T) {
	patches, err := read(root)
	require.NoError(t, err)
	asked := map[string]bool{}
	for _, p := range patches {
		for _, name := range p.names {
			asked[name] = asked[name] || strings.Contains(strings.Join(p.lines, "\n"), "defects."+name)
		}
	}
	for _, d := range append(known.Agreement(), known.Server()...) {
		require.True(t, asked[d.String()], "no patch asks for defects.%s", d)
		delete(asked, d.String())
	}
	delete(asked, "switch")
	require.Empty(t, asked, "names that test/defects does not have")
}

// TestChange applies patches to a text, and does not apply those that have no place of their own.
func TestChange(t *testing.T) {
	const text = "package p\n\na\nb\na\nc\nd\n"
	for _, v := range []struct{ patches, want, err string }{
		{patches: "== N: f\n b\n+x", want: "package p\n\na\nb\nx\na\nc\nd\n"},
		{patches: "== N: f\n+x\n b", want: "package p\n\na\nx\nb\na\nc\nd\n"},
		{patches: "== N: f\n-b\n+x", want: "package p\n\na\nx\na\nc\nd\n"},
		{patches: "== N: f\n+x\n b\n-a\n+y\n c\n", want: "package p\n\na\nx\nb\ny\nc\nd\n"},
		{patches: "== N: f\n b\n+x\n\n== M: f\n-d\n+y\n", want: "package p\n\na\nb\nx\na\nc\ny\n"},
		{patches: "== N: f\n-d\n+defects.N\n",
			want: "package p; import \"" + defects + "\"\n\na\nb\na\nc\ndefects.N\n"},
		{patches: "== N: f\n-a\n+x", err: "the patch of N does not apply: its lines occur 2 times in f, and not once"},
		{patches: "== N, M: f\n-a\n-x", err: "the patch of N, M does not apply: its lines occur 0 times in f"},
		{patches: "== N: f\n-c\n+x\n\n== M: f\n a\n-c\n+y", err: "patches:1 and patches:5 change the same lines of f"},
		{patches: "== N: f\n c\n+x\n\n== M: f\n+y\n d", err: "change the same lines of f"},
		{patches: "== N: f\n c\n", err: "changes nothing"},
		{patches: "== N: f\n+c\n", err: "no line to find its place by"},
		{patches: "== N f\n+c\n", err: "patches:1: not NAME: FILE"},
		{patches: "# said\n== N: f\nc\n", err: "patches:3: a line of a patch begins with"},
		{patches: "said\n", err: "patches:1: not a comment"},
	} {
		patches, err := parse("patches", v.patches)
		var got []byte
		if err == nil {
			got, err = change([]byte(text), patches)
		}
		if v.err != "" {
			require.ErrorContains(t, err, v.err, v.patches)
			continue
		}
		require.NoError(t, err, v.patches)
		require.Equal(t, v.want, string(got), v.patches)
	}
}
