package command

import (
	"os"
	"testing"
)

// asCommand in the environment makes the test binary the command warren, for tests that need a process of it.
const asCommand = "WARREN_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
