package cmdline

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/test/must"
)

// Run runs one command line of warren with these commands, and returns its exit code and what it printed.
func Run(commands []*cobra.Command, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	args = append([]string{}, args...) // of nil, cobra would take the arguments of the test
	code = cli.Run(cli.Root(commands...), args, &out, &err)
	return code, out.String(), err.String()
}

// Runs runs a command line that has to succeed, and returns what it has written to its standard output.
func Runs(t testing.TB, commands []*cobra.Command, args ...string) string {
	t.Helper()
	code, out, errs := Run(commands, args...)
	require.Zero(t, code, errs)
	return out
}

// Fails runs a command line that has to end with an exit code, and with a text on its standard error.
func Fails(t testing.TB, commands []*cobra.Command, code int, text string, args ...string) {
	t.Helper()
	got, _, errs := Run(commands, args...)
	require.Equal(t, code, got, errs)
	require.Contains(t, errs, text)
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
	self := must.Do(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), AsCommand+"=1", "TERM=xterm", "WARREN_HISTORY=", "GOCOVERDIR="+t.TempDir())
	return cmd
}
