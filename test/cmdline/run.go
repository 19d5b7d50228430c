package cmdline

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
)

// Run runs one command line of warren with these commands, and returns its exit code and what it printed.
func Run(commands []*cobra.Command, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	args = append([]string{}, args...) // of nil, cobra would take the arguments of the test
	code = cli.Run(cli.Root(commands...), args, &out, &err)
	return code, out.String(), err.String()
}

// AsCommand in the environment makes a test binary the command warren, for tests that need a process of it.
const AsCommand = "WARREN_TEST_AS_COMMAND"

// Main is what TestMain does in packages whose tests call Process.
func Main(m *testing.M, commands []*cobra.Command) {
	if os.Getenv(AsCommand) != "" {
		os.Exit(cli.Run(cli.Root(commands...), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// Process runs warren in a process of its own.
func Process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), AsCommand+"=1", "TERM=xterm", "WARREN_HISTORY=", "GOCOVERDIR="+t.TempDir())
	return cmd
}
