package files

import (
	"testing"

	"github.com/seed94657493/warren/test/cmdline"
)

// run runs one command line of warren with the commands of this package.
func run(args ...string) (code int, stdout, stderr string) { return cmdline.Run(Commands(), args...) }

// runs is cmdline.Runs.
func runs(t testing.TB, args ...string) string {
	t.Helper()
	return cmdline.Runs(t, Commands(), args...)
}
