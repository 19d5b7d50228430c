package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// firstLoadMax is how many bytes the first page takes, compressed as the server does: the script, the style and the
// fonts of the entry. The editor comes later.
const firstLoadMax = 250 << 10

// What is checked in is what the lock file and the sources give, byte for byte.
func TestBundleIsFresh(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("WARREN_NPM") == "required" {
			t.Fatal("there is no npm: install it, or unset WARREN_NPM")
		}
		t.Skip("there is no npm")
	}
	work := filepath.Join(t.TempDir(), "console")
	require.NoError(t, prepare(filepath.Join("../..", App), work))
	for _, check := range [][]string{{"tsc", "--noEmit"}, {"prettier", "--check", "src"}} {
		run := exec.CommandContext(t.Context(), "npx", append([]string{"--no-install"}, check...)...)
		run.Dir = work
		said, err := run.CombinedOutput()
		require.NoError(t, err, "%s", said)
	}
	files, err := Bundle(work)
	require.NoError(t, err)
	entries, err := os.ReadDir(filepath.Join("../..", Static))
	require.NoError(t, err)
	require.Len(t, entries, len(files), "run make console-app")
	first := 0
	for name, content := range files {
		old, err := os.ReadFile(filepath.Join("../..", Static, name))
		require.NoError(t, err, "run make console-app")
		require.True(t, bytes.Equal(content, old), "%s is not what its sources give: run make console-app", name)
		if name == "app.js" || name == "boot.js" || name == "app.css" || filepath.Ext(name) == ".woff2" {
			var small bytes.Buffer
			w := gzip.NewWriter(&small)
			_, err := w.Write(content)
			require.NoError(t, err)
			require.NoError(t, w.Close())
			first += small.Len()
		}
	}
	t.Logf("the first load takes %d bytes", first)
	require.Less(t, first, firstLoadMax)
}
