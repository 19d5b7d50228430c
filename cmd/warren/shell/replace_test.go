package shell

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReplaceable(t *testing.T) {
	dir := t.TempDir()
	file, link, device := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "device")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Symlink(file, link))
	l, err := net.Listen("unix", device)
	require.NoError(t, err)
	defer l.Close()
	file, err = filepath.EvalSymlinks(file)
	require.NoError(t, err)
	fresh := filepath.Join(dir, "fresh")
	for name, want := range map[string]string{file: file, link: file, fresh: fresh, device: "",
		"/dev/stdout": "", "/dev/fd/1": "", "/proc/self/fd/1": ""} {
		got, ok := Replaceable(name)
		require.Equal(t, want != "", ok, name)
		if ok {
			require.Equal(t, want, got)
		}
	}
}
