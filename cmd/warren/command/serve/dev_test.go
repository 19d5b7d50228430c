package serve

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// The data is where --dir says, whatever the name means in a zoo.cfg.
func TestDevFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a backslash parts folders")
	}
	for _, name := range []string{"plain", `back\slash`, "two words ", "\u00fcml\u00e4ut", "#=:!"} {
		o := devOptions{servers: 1, port: 1, dir: filepath.Join(t.TempDir(), name)}
		all := must.Do(o.configs())(t)
		require.Equal(t, filepath.Join(o.dir, "1"), all[0].DataDir)
	}
	_, err := (&devOptions{servers: 1, port: 1, dir: filepath.Join(t.TempDir(), "\xff")}).configs()
	require.ErrorContains(t, err, "is not UTF-8")
}
