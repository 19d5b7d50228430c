package serve_test

import (
	"testing"

	"github.com/seed94657493/warren/cmd/warren/command/serve"
	"github.com/seed94657493/warren/test/cmdline"
)

func TestMain(m *testing.M) { cmdline.Main(m, serve.Commands()) }

// run runs one command line of warren with the commands of this package.
func run(args ...string) (code int, stdout, stderr string) {
	return cmdline.Run(serve.Commands(), args...)
}
