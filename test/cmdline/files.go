package cmdline

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Fixtures is the folder of the files that ZooKeeper has written, from the folder of the package that is tested.
var Fixtures = fixtures()

func fixtures() string {
	const folder = "test/testdata/fixtures/"
	for up := ""; len(up) < 10*len("../"); up += "../" {
		if _, err := os.Stat(up + folder); err == nil {
			return up + folder
		}
	}
	return folder // a process that a test has started elsewhere, which reads none of them
}

// CopyFixture returns a data directory with a copy of the fixture.
func CopyFixture(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(Fixtures+"zookeeper-3.8/"+name)))
	return dir
}

// Contents returns the bytes of every file below dir.
func Contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	}))
	return all
}

// InUTC makes times print as they were captured.
func InUTC(t *testing.T) {
	was := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = was })
}
