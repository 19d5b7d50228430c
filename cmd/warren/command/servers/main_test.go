package servers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cmdline"
)

func TestMain(m *testing.M) { cmdline.Main(m, Commands()) }

// run runs one command line of warren with the commands of this package.
func run(args ...string) (code int, stdout, stderr string) { return cmdline.Run(Commands(), args...) }

// runs runs a command line that has to succeed, and returns what it has written to its standard output.
func runs(t testing.TB, args ...string) string {
	t.Helper()
	code, out, errs := run(args...)
	require.Zero(t, code, errs)
	return out
}
