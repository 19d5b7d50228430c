package deploy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed94657493/warren/cmd/warren/command"
	"github.com/seed94657493/warren/cmd/warren/command/zkscripts"
	"github.com/seed94657493/warren/test/must"
)

// asCommand in the environment makes the test binary the command warren.
const asCommand = "WARREN_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(command.Main(zkscripts.Arguments(os.Args), os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// read returns a file under deploy.
func read(t *testing.T, name string) string {
	t.Helper()
	return string(must.ReadFile(t, filepath.Join("..", "..", "deploy", name)))
}
