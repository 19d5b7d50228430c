package meta

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// fullDiskDir names the variable that tells a child process of TestFullDiskForDatabase its directory.
const fullDiskDir = "META_TEST_FULL_DISK_DIR"

// A limit of the size of files is for meta.db what a full disk is. The limit holds for every file of a process, files
// of the test runner included, so the test runs in a child process.
func TestFullDiskForDatabase(t *testing.T) {
	if dir := os.Getenv(fullDiskDir); dir != "" {
		fillDatabase(t, dir)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestFullDiskForDatabase$", "-test.v")
	child.Env = append(os.Environ(), fullDiskDir+"="+t.TempDir())
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestFullDiskForDatabase")
}

func fillDatabase(t *testing.T, dir string) {
	db := open(t, Options{Dir: dir})
	info := must.Do(os.Stat(dir + "/" + FileName))(t)

	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(info.Size()), Max: old.Max}))
	full := db.SetConfig(Config{Version: 2, Text: strings.Repeat("x", 200000)})
	small := db.SetConfig(Config{Version: 3})
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old))

	require.ErrorIs(t, full, vfs.ErrNoSpace)
	require.NoError(t, small)
	require.NoError(t, db.SetConfig(Config{Version: 2, Text: strings.Repeat("x", 200000)}))
	require.NoError(t, db.Close())
	c, ok := open(t, Options{Dir: dir}).Config()
	require.True(t, ok)
	require.Len(t, c.Text, 200000)
}
