package shell

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

func TestReplaceable(t *testing.T) {
	dir := t.TempDir()
	file, link, device := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "device")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Symlink(file, link))
	l := must.Do(net.Listen("unix", device))(t)
	defer l.Close()
	file = must.Do(filepath.EvalSymlinks(file))(t)
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
