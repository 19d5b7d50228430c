package single_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// TestExamples runs the examples of package recipes on the server: that package cannot start one.
func TestExamples(t *testing.T) {
	const pkg = "github.com/seed94657493/warren/recipes"
	cmd := exec.CommandContext(within(t), "go", "test", "-count=1", "-v", "-run=^Example", pkg)
	cmd.Env = append(os.Environ(), "WARREN_TEST_SERVERS="+address)
	out := must.Output(t, cmd)
	for name := range examples(t) {
		require.True(t, strings.Contains(string(out), "--- PASS: "+name+" "), "%s did not run:\n%s", name, out)
	}
}
