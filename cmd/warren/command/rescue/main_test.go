package rescue

import (
	"testing"

	"github.com/seed94657493/warren/test/cmdline"
)

// run runs one command line of warren with the commands of this package.
func run(args ...string) (code int, stdout, stderr string) { return cmdline.Run(Commands(), args...) }

// fails is cmdline.Fails.
func fails(t testing.TB, code int, text string, args ...string) {
	t.Helper()
	cmdline.Fails(t, Commands(), code, text, args...)
}
