package serve

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A person at a terminal is told where to look and what to try next.
func TestNextSteps(t *testing.T) {
	every := &net.TCPAddr{IP: net.IPv6unspecified, Port: 2181}
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	require.Equal(t, "console  http://127.0.0.1:8080/console/\ntry      warren shell -s localhost:2181 ls /\n",
		nextSteps(every, local, true))
	require.Equal(t, "try      warren shell -s localhost:2181 ls /\n", nextSteps(every, local, false))
	require.Equal(t, "console  http://localhost:2181/console/\n", nextSteps(nil, every, true))
	require.Empty(t, nextSteps(nil, nil, true))
}

// The command that is suggested can be copied, even if the program was built and is not installed.
func TestSuggestedCommandsCanBeCalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	require.Equal(t, "bin/warren", callable("bin/warren"))
	require.Equal(t, "warren", callable("/usr/bin/zkServer.sh"), "a link")
	installed := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(installed, "warren"), nil, 0o755))
	t.Setenv("PATH", installed)
	require.Equal(t, "warren", callable(filepath.Join(installed, "warren")))
}
