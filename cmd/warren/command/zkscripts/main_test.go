package zkscripts

import (
	"slices"
	"testing"

	"github.com/seed94657493/warren/cmd/warren/command/serve"
	"github.com/seed94657493/warren/test/cmdline"
)

// What zkServer.sh starts is warren server.
func TestMain(m *testing.M) { cmdline.Main(m, slices.Concat(Commands(), serve.Commands())) }

// run runs one command line of warren with the commands of this package.
func run(args ...string) (code int, stdout, stderr string) { return cmdline.Run(Commands(), args...) }
